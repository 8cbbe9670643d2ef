// The side of the sync of a control plane, and the values that follow from it alone.
import type { Config } from '../base/config.ts';
import { globalSendRules, zoneSendRules, type SendRules } from '../kds/protocol/rules.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';

export type Side = { readonly mode: 'global' } | { readonly mode: 'zone'; readonly zone: string; readonly hasGlobal: boolean };

/** The writer of the control plane's rows. */
export function identityOf(side: Side): ControlPlaneIdentity {
  const zone = side.mode === 'zone' ? side.zone : null;
  return { mode: side.mode, zone, federated: side.mode === 'zone' && side.hasGlobal };
}

/** The rules for sending rows to the other side. */
export function sendRulesOf(side: Side, { multizone }: Config): SendRules {
  if (side.mode === 'global') {
    const { labels, meshTrustAcrossZones } = multizone.global.kds;
    return globalSendRules({ ...labels, meshTrustAcrossZones });
  }
  return zoneSendRules({ zone: side.zone, ...multizone.zone.kds.labels });
}
