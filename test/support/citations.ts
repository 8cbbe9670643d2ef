// The form of a citation of docs/reference, and the headings that it can name. docs/reference/README.md explains it.

/** Pages whose headings begin with a number. Rulings and design documents are cited without the name of their page. */
const NUMBERED_PAGES = ['kds-wire', 'policies', 'rest-api', 'engine', 'xds'] as const;

const PAGE = NUMBERED_PAGES.join('|');
const SECTION = String.raw`\d+(?:\.\d+)*[a-z]?(?![\w%])`;
const SECTIONS = String.raw`${SECTION}(?:(?:, | and | to )${SECTION})*`;

/** `kds-wire 5.2, 5.3`, `policies 9.2 to 9.5`, `D14`, `MADR 063`, `GEP-718`. */
const CITATION = new RegExp(
  String.raw`(?<![\w.-])(?:(?<page>${PAGE}) (?<sections>${SECTIONS})|(?<ruling>D[1-9]\d?)|(?<document>MADR \d+|GEP-\d+))(?![\w])`,
  'gi',
);

/** Malformed citations: another spelling, or a number on the line after its page. */
const MISSPELT = new RegExp(
  [
    String.raw`(?<![\w/.-])(?:${PAGE})(?:\.md)?,? ?(?:§|(?:section|step|rule|item|trap)s? )\d[\d.]*`,
    String.raw`(?<![\w/-])(?:${PAGE})\.md \d[\d.]*`,
    String.raw`(?<![\w.-])(?:${PAGE}) ${SECTION},? (?:§|(?:section|step|rule|item)s? )\d`,
    String.raw`(?<![\w.-])(?:${PAGE}) ${SECTION} ?[–-] ?\d`,
    String.raw`(?<![\w.-])(?:${PAGE})\n *(?://|\*|#|--)? *\d`,
    // Pages that do not ship.
    String.raw`\b(?:decisions?|rulings?) D\d+|\bdesign \d+(?!\w)`,
    String.raw`\bD\d+ ?[–-] ?D?\d`,
    String.raw`\bMADR[-\n]\d+|\bGEP[ \n]\d+`,
  ].join('|'),
  'gi',
);

/** One section that a text cites. `page` is a file of docs/reference without its ending, `heading` the first words of a heading there. */
export type Citation = { readonly page: string; readonly heading: string; readonly text: string };

/** All sections that a text cites, in order. A range gives its two ends. */
export function citationsIn(text: string): Citation[] {
  return [...text.matchAll(CITATION)].flatMap(({ 0: whole, groups = {} }) => {
    const { page, sections = '', ruling, document } = groups;
    if (ruling !== undefined) return ruling.startsWith('D') ? [{ page: 'rulings', heading: ruling, text: whole }] : [];
    if (document !== undefined) return [{ page: 'design-documents', heading: document.toUpperCase(), text: whole }];
    return sections
      .split(/, | and | to /)
      .map((heading) => ({ page: (page ?? '').toLowerCase(), heading, text: `${(page ?? '').toLowerCase()} ${heading}` }));
  });
}

/** Texts that look like a citation but have another form. */
export function misspeltIn(text: string): string[] {
  return [...text.matchAll(MISSPELT)].map(([whole]) => whole);
}

/** The prefixes of the headings of a page: `5.2`, `D14`, `MADR 063`. */
export function headingsOf(markdown: string): Set<string> {
  return new Set([...markdown.matchAll(/^#{2,4} (\d[\w.]*|D\d+|MADR \d+|GEP-\d+)(?= |$)/gm)].map(([, heading = '']) => heading));
}
