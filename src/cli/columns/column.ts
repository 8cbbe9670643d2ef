// One column of a table of resources.
import type { Item } from '../api-client.ts';

/** @property wide shown with `-o wide` alone */
export type Column = { readonly head: string; readonly wide?: boolean; readonly of: (item: Item) => string };
