import { expect, it } from 'vitest';
import { peerVersionOf } from './peer-version.ts';

it('the version of a zone is that of its open subscription after the date was set back', () => {
  const live = { connectTime: '2026-01-01T10:00:00Z', version: { kumaCp: { version: '3.1.0' } } };
  const dead = {
    connectTime: '2026-01-01T10:50:00Z',
    disconnectTime: '2026-01-01T11:00:00Z',
    version: { kumaCp: { version: '3.0.0', gitTag: '3.0.0' } },
  };
  expect(peerVersionOf({ subscriptions: [live, dead] })).toEqual({ version: '3.1.0', isOwn: true });
});
