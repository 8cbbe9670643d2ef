// The election of a leader, on sessions that the test answers.
import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Client } from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { leadByLock } from './election.ts';

class Session extends EventEmitter {
  asked: string[] = [];
  isEnded = false;
  isSilent = false;

  async query(text: string): Promise<{ rows: { held: boolean }[] }> {
    this.asked.push(text.startsWith('select pg_try_advisory_lock') ? 'lock' : text);
    if (this.isSilent) await new Promise(() => undefined);
    return { rows: [{ held: isFree }] };
  }

  async end(): Promise<void> {
    this.isEnded = true;
    throw new Error('it has ended already');
  }
}

let clock: ManualClock;
let stop: AbortController;
let sessions: Session[];
let isFree: boolean;
let fault: Error | null;
let leases: AbortSignal[];
let leading: Promise<void>;

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
}

async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await settled();
}

beforeEach(async () => {
  clock = new ManualClock();
  stop = new AbortController();
  [sessions, leases, isFree, fault] = [[], [], true, null];
});

async function lead(): Promise<void> {
  const session = async (): Promise<Client> => {
    if (fault !== null) throw fault;
    const made = new Session();
    sessions.push(made);
    return made as unknown as Client;
  };
  const task = async (lease: AbortSignal): Promise<void> => {
    leases.push(lease);
    await new Promise((resolve) => lease.addEventListener('abort', resolve));
  };
  leading = leadByLock({ session, clock }, 'task', task, stop.signal);
  leading.catch(() => undefined);
  await settled();
}

describe('a process', () => {
  it('leads while it has the lock, until it is stopped', async () => {
    await lead();
    expect([leases.length, leases[0]?.aborted, sessions[0]?.asked]).toEqual([1, false, ['lock']]);
    stop.abort();
    await leading;
    expect([leases[0]?.aborted, sessions[0]?.isEnded, sessions.length]).toEqual([true, true, 1]);
  });

  it('asks for the lock each second on one session while another process has it', async () => {
    isFree = false;
    await lead();
    await pass(999);
    expect(sessions[0]?.asked).toEqual(['lock']);
    await pass(1);
    expect([sessions.length, sessions[0]?.asked, leases.length]).toEqual([1, ['lock', 'lock'], 0]);
    isFree = true;
    await pass(1_000);
    expect(leases).toHaveLength(1);
    stop.abort();
    await leading;
  });

  it('ends its session when it is stopped before it leads', async () => {
    isFree = false;
    await lead();
    stop.abort();
    await settled();
    await leading;
    expect([sessions[0]?.isEnded, sessions[0]?.asked, leases.length]).toEqual([true, ['lock'], 0]);
  });

  it.each(['error', 'end'])('stops to lead on an %s of its session, and leads again on another after a second', async (event) => {
    await lead();
    sessions[0]?.emit(event, new Error('gone'));
    await settled();
    expect([leases[0]?.aborted, sessions[0]?.isEnded]).toEqual([true, true]);
    await pass(999);
    expect(sessions).toHaveLength(1);
    await pass(1);
    expect([sessions.length, leases.length, leases[1]?.aborted]).toEqual([2, 2, false]);
    stop.abort();
    await leading;
  });

  it('stops to lead when its session does not answer within ten seconds', async () => {
    await lead();
    const [session] = sessions;
    if (session === undefined) throw new Error('no session');
    session.isSilent = true;
    await pass(10_000);
    expect([session.asked, leases[0]?.aborted]).toEqual([['lock', 'select 1'], false]);
    await pass(10_000);
    expect(leases[0]?.aborted).toBe(true);
    stop.abort();
    await leading;
  });

  it('tries again while the database is away, and fails on another fault', async () => {
    fault = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    await lead();
    await pass(1_000);
    expect(sessions).toEqual([]);
    fault = new Error('a fault of this program');
    await pass(1_000);
    await expect(leading).rejects.toThrow('a fault of this program');
  });

  it('ends without a fault when it is stopped while the database is away', async () => {
    fault = new Error('a fault of this program');
    stop.abort();
    await lead();
    await leading;
    expect(sessions).toEqual([]);
  });
});
