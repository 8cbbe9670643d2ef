// What the navigation shows.

export type Section = {
  readonly title: string;
  readonly parts: readonly string[];
  /** First parts of the paths below it. */
  readonly firsts: readonly string[];
};

export const SECTIONS: readonly Section[] = [
  { title: 'Fleet', parts: [], firsts: ['', 'zones'] },
  { title: 'Changes', parts: ['changes'], firsts: ['changes'] },
  { title: 'Resources', parts: ['resources'], firsts: ['resources', 'kri'] },
  { title: 'Proxies', parts: ['proxies'], firsts: ['proxies'] },
  { title: 'What if', parts: ['preview'], firsts: ['preview'] },
  { title: 'Health', parts: ['health'], firsts: ['health'] },
];
