// The names of Envoy resources as dashboards and statistics know them (xds 2).
import { expect, it } from 'vitest';
import { inboundName, noDestinationName, passthroughName, routeName, zoneListenerName, zoneResourceName } from './names.ts';

it.each([
  ['an inbound', inboundName({ section: 'http' }), 'self_inbound_dp_http'],
  ['an ingress', zoneListenerName({ kind: 'ZoneIngress', section: '10001' }), 'self_zoneingress_dp_10001'],
  ['an egress', zoneListenerName({ kind: 'ZoneEgress', section: '10002' }), 'self_zoneegress_dp_10002'],
  ['what an ingress has for others', zoneResourceName('ZoneIngress', 'a.sni'), 'ingress:a.sni'],
  ['what an egress has for others', zoneResourceName('ZoneEgress', 'kri'), 'egress:kri'],
  ['redirected connections that come in', passthroughName('inbound', 4), 'self_transparentproxy_passthrough_inbound_ipv4'],
  ['redirected connections that go out', passthroughName('outbound', 6), 'self_transparentproxy_passthrough_outbound_ipv6'],
  ['connections that may not pass', noDestinationName('outbound'), 'self_transparentproxy_no_destination_outbound'],
  ['a route', routeName('kri_mhttpr_default___r_', 2), 'kri_mhttpr_default___r_rule_2'],
])('the name of %s is %s', (_, name, expected) => {
  expect(name).toBe(expected);
});
