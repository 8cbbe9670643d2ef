// Whether the services of a mesh take plain text, in words: a cell of `inspect meshes`, and the lines below its table. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { withdrawalLine } from './withdrawal-text.ts';
import type { Item } from '../client/api-client.ts';

type MeshTls = Answer<'MeshTls'>;

/** `strict`, `plaintext`, `unknown`, or the number of strict services; `-` in a mesh without services. */
export function tlsCell(item: Item): string {
  const services = tlsOf(item)?.services;
  if (services === undefined || services.total === 0) return '-';
  if (services.strict === services.total) return 'strict';
  if (services.plaintext === services.total) return 'plaintext';
  const { unknown = 0 } = services;
  if (unknown === services.total) return 'unknown';
  return `${String(services.strict)}/${String(services.total)} strict${unknown === 0 ? '' : `, ${String(unknown)} unknown`}`;
}

/** The services that take plain text in a mesh where someone expects more, and identities that go; no line where all is as expected. */
export function plaintextLines(item: Item): string[] {
  const tls = tlsOf(item);
  const withdrawn =
    tls === undefined || tls.withdrawals.length === 0
      ? []
      : ['', `${visibleLine(tls.mesh)}:`, ...tls.withdrawals.map(withdrawalLine)];
  if (tls === undefined || tls.expectedBy.length === 0 || tls.total === 0) return withdrawn;
  const { services, expectedBy, items, total, mesh } = tls;
  const named = items.map(({ service, zone, tls, reason }) =>
    visibleLine(`  ${service.name}${zone === '' ? '' : ` in ${zone}`}: ${tls}: ${reason}`),
  );
  const more = total > items.length ? [`  and ${String(total - items.length)} more: GET /meshes/${visibleLine(mesh)}/_tls`] : [];
  const { unknown = 0 } = services;
  const known = total - unknown;
  const count = `${String(known)} of ${String(services.total)} services take plain text`;
  const head = known === 0 ? [] : [`${count}, although the mesh has ${expectedBy.join(' and ')}`];
  const others =
    unknown === 0 ? [] : [`whether ${String(unknown)} of ${String(services.total)} services take plain text is not known here`];
  return ['', `${visibleLine(mesh)}: ${[...head, ...others].join('; ')}`, ...named, ...more, ...withdrawn];
}

function tlsOf(item: Item): MeshTls | undefined {
  return item['tls'] as unknown as MeshTls | undefined;
}
