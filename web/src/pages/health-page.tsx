// What is wrong with the control plane and its zones, and which replicas it has.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { Failure } from '../parts/failure.tsx';
import { Problems } from '../parts/problems.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useLive } from '../live.ts';
import { get } from '../session.ts';
import { ago, sinceThen } from '../words.ts';

type Replicas = Answer<'Replicas'>;

/** More would take longer to draw than to solve. */
const MAX_PROBLEMS = 500;

export function HealthPage(): JSX.Element {
  return (
    <>
      <div class="head">
        <h1>Health</h1>
      </div>
      <div class="split even">
        <Problems max={MAX_PROBLEMS} />
        <ReplicaList />
      </div>
    </>
  );
}

function ReplicaList(): JSX.Element {
  const { data, failure } = useLive('replicas', ['leader', 'clock'], (signal) => get<Replicas>('/_replicas', signal));
  const replicas = data?.replicas ?? [];
  const hasZones = replicas.some(({ zones }) => zones !== null);
  return (
    <section class="card" aria-label="Replicas">
      <div class="bar">
        <h2>Replicas of this control plane</h2>
      </div>
      <Failure of={failure} />
      {data?.leader === null && <p class="note failure">No replica leads</p>}
      <table class="plain">
        <thead>
          <tr>
            <th>Instance</th>
            <th>Duty</th>
            {hasZones && <th class="number">Zones</th>}
            <th>Version</th>
            <th>Last seen</th>
          </tr>
        </thead>
        <tbody>
          {replicas.map(({ instanceId, isLeader, isDraining, zones, since, version, lastSeen }) => (
            <tr key={instanceId}>
              <td class="whole">{instanceId}</td>
              <td>
                {isLeader ? <StateMark tone="ok" word="leads" /> : 'follows'} <span class="soft">{sinceThen(since)}</span>
                {isDraining && (
                  <div>
                    <StateMark tone="late" word="stops, and takes no more zones" />
                  </div>
                )}
              </td>
              {hasZones && <td class="number">{zones === null ? '' : zones.toLocaleString('en')}</td>}
              <td>{version}</td>
              <td>{ago(lastSeen)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
