// The Accept header: which media types a caller accepts.

/**
 * @param header undefined or empty accepts everything
 * @param options.named wildcards do not count
 */
export function accepts(header: string | undefined, type: string, options: { readonly named?: boolean } = {}): boolean {
  const { named = false } = options;
  if (header === undefined || header.trim() === '') return !named;
  const wildcards = named ? [] : ['*/*', `${type.split('/')[0] ?? ''}/*`];
  return header.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return (name === type || wildcards.includes(name)) && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
