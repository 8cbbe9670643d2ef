import { describe } from 'vitest';
import { storeContract } from '../store/contract.ts';
import { TinyStore } from './tiny-store.ts';

describe('the store in memory of the tests', () => {
  storeContract(() => new TinyStore(() => new Date()));
});
