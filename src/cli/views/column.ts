// One column of a table of resources.
import type { Item } from '../client/api-client.ts';

/** @property wide shown with `-o wide` alone */
export type Column = { readonly head: string; readonly wide?: boolean; readonly of: (item: Item) => string };
