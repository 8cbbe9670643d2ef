// A soak from its start to its end: quiet, then the actions of the plan, then quiet again. Invariant: what it started is ended, also
// after a failure.
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Sections } from '../../bench/context.ts';
import { isWithin, type Metric } from '../../bench/metric.ts';
import type { Postgres } from '../../bench/postgres.ts';
import { Actor } from './actor.ts';
import { SoakFleet } from './fleet.ts';
import { moreResources, type Sample } from './judge.ts';
import { planOf } from './plan.ts';
import { actionMetrics, endMetrics, leftMetrics, memoryMetrics, type End } from './results.ts';
import { quietSecondsOf, type SoakSizes } from './sizes.ts';
import { storedRevisions, wrongRows } from './stores.ts';
import { startSoakZones, type SoakZones } from './zones.ts';

/** Samples of a run; at most one a second. */
const SAMPLES = 720;
const PROGRESS_LINES = 60;
const MIN_PROGRESS_SECONDS = 5;
/** How long zones may take to join at the start, and everything to come to rest at the end. */
const JOIN_SECONDS = 180;
const REST_SECONDS = 180;
/** How long it waits for as few files and resources as before; then what the budgets allow is enough. */
const LEAST_SECONDS = 60;
const LOOK_MS = 2_000;
const SHOWN = 10;
/** A line while it waits for rest, so often and with so many reasons. */
const REST_LINE_SECONDS = 20;
const SHOWN_WAITING = 3;
const SHOWN_CHARACTERS = 400;

export const soak: Sections<SoakSizes> = { names: { soak: 'the actions of a plan for a long time' }, measure };

type Run = {
  readonly settings: SoakSizes;
  readonly say: (text: string) => void;
  readonly fleet: SoakFleet;
  readonly zones: SoakZones;
  readonly actor: Actor;
  readonly samples: Sample[];
  /** Aborts when the run has failed: nothing waits any longer. */
  readonly signal: AbortSignal;
  /** Milliseconds of `performance.now`. */
  readonly began: number;
};

async function measure(context: Context<SoakSizes>): Promise<Metric[]> {
  const { settings, say } = context;
  const postgres = await context.postgres();
  const stop = new AbortController();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => stop.abort());
  const zones = await startSoakZones(settings.zones, settings.zonesPerProcess, reject);
  let fleet: SoakFleet | null = null;
  let actor: Actor | null = null;
  try {
    fleet = await Promise.race([startFleet(context, postgres, zones, { onEnded: reject, signal: stop.signal }), failed]);
    actor = new Actor({ fleet, zones, postgres }, stop.signal, reject);
    const run: Run = { settings, say, fleet, zones, actor, samples: [], signal: stop.signal, began: performance.now() };
    return await Promise.race([runThrough(run), failed]);
  } finally {
    stop.abort();
    await actor?.ended();
    await fleet?.stop();
    await zones.end();
  }
}

/** Resolves when all zones have joined. @param onEnded a process has ended by itself */
async function startFleet(
  { settings, say }: Context<SoakSizes>,
  postgres: Postgres,
  zones: SoakZones,
  { onEnded, signal }: { readonly onEnded: (error: Error) => void; readonly signal: AbortSignal },
): Promise<SoakFleet> {
  say(`starting ${String(settings.replicas)} replicas and ${String(settings.realZones)} zones`);
  const fleet = await SoakFleet.start(postgres, settings, { onEnded, onReplicas: zones.setAddresses });
  say(`${String(settings.zones)} fake zones join`);
  for (let zone = 0; zone < settings.zones; zone += 1) {
    zones.tell(zone, 'join');
    zones.write(zone, 1);
  }
  for (
    const end = performance.now() + JOIN_SECONDS * 1_000;
    zones.counts().up < settings.zones;
    await delay(100, undefined, { signal })
  )
    if (performance.now() > end) throw new Error(`not all fake zones have joined after ${String(JOIN_SECONDS)} s`);
  return fleet;
}

async function runThrough(run: Run): Promise<Metric[]> {
  const { settings, say, fleet, actor, samples } = run;
  const [quiet, seconds] = [quietSecondsOf(settings), settings.minutes * 60];
  say(`quiet for ${quiet.toFixed(0)} s`);
  await sampleUntil(run, quiet);
  const before = samples.at(-1);
  if (before === undefined || before.processes.length !== fleet.members.length) throw new Error('a process does not answer');
  say(`actions of seed ${String(settings.seed)} for ${(seconds - quiet).toFixed(0)} s`);
  await Promise.all([actor.run(planOf({ ...settings, seconds: seconds - quiet })), sampleUntil(run, seconds)]);
  say('the last actions end');
  await actor.ended();
  const end = await endOf(run, before);
  return [
    ...actionMetrics(actor, end.counts),
    ...memoryMetrics(
      samples.filter(({ at }) => at >= quiet),
      fleet.members.length,
    ),
    ...leftMetrics(before, end.sample),
    ...endMetrics(end),
  ];
}

/** Samples every process at equal times. @param end seconds of the run */
async function sampleUntil(run: Run, end: number): Promise<void> {
  const seconds = run.settings.minutes * 60;
  const gap = Math.max(1, seconds / SAMPLES);
  for (let line = 0; ;) {
    const sample = await run.fleet.sample(run.began);
    run.samples.push(sample);
    if (sample.at >= line) {
      run.say(progressOf(run, sample));
      line = sample.at + Math.max(MIN_PROGRESS_SECONDS, seconds / PROGRESS_LINES);
    }
    if (sample.at + gap >= end) return;
    await delay(gap * 1_000, undefined, { signal: run.signal });
  }
}

function progressOf({ settings, zones, actor }: Run, { at, processes }: Sample): string {
  const memory = processes.map(({ name, memoryMb }) => `${name} ${memoryMb.toFixed(0)}`).join(', ');
  const actions = [...actor.done.values()].reduce((sum, count) => sum + count, 0);
  const left = Math.max(0, settings.minutes - at / 60).toFixed(1);
  const connected = `${String(zones.counts().up)} of ${String(settings.zones)} fake zones connected`;
  return `${left} min left; ${connected}; ${String(actions)} actions; MB: ${memory}`;
}

/** Waits for rest, and ends the processes. */
async function endOf(run: Run, before: Sample): Promise<End> {
  const { say, fleet, zones, actor } = run;
  say('waiting until everything is at rest');
  const rest = await comeToRest(run, before);
  const broken = actor.acknowledged.broken(await storedRevisions(fleet));
  for (const text of [...rest.wrong, ...broken, ...actor.refusals].slice(0, SHOWN)) say(`wrong: ${cut(text)}`);
  for (const text of moreResources(before, rest.sample)) say(`more than before: ${text}`);
  say('ending the processes');
  const counts = zones.counts();
  return {
    ...rest,
    counts,
    checked: actor.acknowledged.size,
    broken: broken.length,
    refusals: actor.refusals.length,
    badlyEnded: (await fleet.stop()).length,
  };
}

/** Waits until the stores are right, and files and resources are as few as before. After a limit the last state counts. */
async function comeToRest(run: Run, before: Sample): Promise<Pick<End, 'sample' | 'wrong' | 'seconds'>> {
  const { fleet, zones, began, signal, say } = run;
  const start = performance.now();
  for (let line = MIN_PROGRESS_SECONDS; ;) {
    const wrong = await wrongRows(fleet, await zones.held());
    const sample = await fleet.sample(began);
    const seconds = (performance.now() - start) / 1_000;
    if (sample.processes.length !== fleet.members.length) wrong.push('a process does not answer');
    const left = leftMetrics(before, sample);
    const isLeast = left.every(({ meridian }) => meridian <= 0);
    const isRight = wrong.length === 0 && (isLeast || (seconds > LEAST_SECONDS && left.every(isWithin)));
    if (isRight || seconds > REST_SECONDS) return { sample, wrong, seconds };
    if (seconds >= line) {
      say(`not at rest yet: ${[...wrong, ...moreResources(before, sample)].slice(0, SHOWN_WAITING).map(cut).join('; ')}`);
      line = seconds + REST_LINE_SECONDS;
    }
    await delay(LOOK_MS, undefined, { signal });
  }
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
