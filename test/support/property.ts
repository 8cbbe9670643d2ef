// fast-check as every property test here uses it: a length that a test gives is reached. Its own default stops at 10 items and
// 20 characters, whatever maximum is given.
import fc from 'fast-check';

fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

export { fc };
