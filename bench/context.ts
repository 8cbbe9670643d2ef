// The context of every section, and the declaration of a section.
import type { Metric } from './metric.ts';
import type { Postgres } from './postgres.ts';

/** Reports progress. */
export type Say = (text: string) => void;

/** @typeParam S the sizes of the run, by the names of their flags */
export type Context<S> = {
  readonly settings: S;
  /** One server for all sections, started when the first asks. */
  readonly postgres: () => Promise<Postgres>;
  readonly say: Say;
  /**
   * Measures a part that others do not depend on. Where it fails, the run goes on, and names it at its end.
   * @returns nothing where it fails
   */
  readonly part: (name: string, measure: () => Promise<Metric[]>) => Promise<Metric[]>;
};

/** Sections that share what they start. */
export type Sections<S> = {
  /** Value of `--only` → its description, for `--help`. */
  readonly names: Readonly<Record<string, string>>;
  /** @param wanted may hold names of other sections; never called without one of its own */
  readonly measure: (context: Context<S>, wanted: ReadonlySet<string>) => Promise<Metric[]>;
};

/** The sizes of a program: `warmUp` is the flag `--warm-up <n>`. */
export type Sizes<S> = { readonly [K in keyof S]: readonly [value: number, about: string] };
export type SettingsOf<T> = { readonly [K in keyof T]: number };
