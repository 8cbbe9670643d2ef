// fast-check as every property test here uses it. A length that a test gives is reached: fast-check alone stops at 10 items and
// 20 characters. A property runs as often as its test says where TEST_SIZE is `full`, and a share of that otherwise.
export * as fc from './sized-fast-check.ts';
