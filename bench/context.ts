// What every section is given.
import type { Metric } from './metric.ts';
import type { Postgres } from './postgres.ts';
import type { Settings } from './settings.ts';

export type Context = {
  readonly settings: Settings;
  readonly postgres: Postgres;
  /** Says what is going on, for whoever waits. */
  readonly say: (text: string) => void;
};

export type Section = (context: Context) => Promise<Metric[]>;
