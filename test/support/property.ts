// The fast-check of every property test. Given lengths are reached, while plain fast-check stops at 10 items and 20 characters. A
// property has all its runs with TEST_SIZE `full`, and a share of them otherwise.
export * as fc from './sized-fast-check.ts';
