// Invalid backends: each is refused with its field.
import { describe, it } from 'vitest';
import { R, backend, expectViolations, forwardTo, httpRoute } from './bad-document.ts';

describe('a bad backend', () => {
  it.each<[string, unknown, ...string[]]>([
    ['no port', backend('{name: a}'), `${R}.backendRefs[0].port: must be given when`],
    ['a port of a name', backend('{name: a, port: http}'), `${R}.backendRefs[0].port: must be an integer from 1 to 65535`],
    ['a port as text', backend('{name: a, port: "80"}'), `${R}.backendRefs[0].port: must be an integer`],
    ['port 0', backend('{name: a, port: 0}'), `${R}.backendRefs[0].port: must be an integer`],
    ['port 65536', forwardTo('{backendRef: {name: a}, port: 65536}'), `${R}.forwardTo[0].port: must be an integer`],
    ['weight -1', backend('{name: a, port: 80, weight: -1}'), `${R}.backendRefs[0].weight: must be an integer from 0 to 1000000`],
    [
      'weight 1000001',
      forwardTo('{backendRef: {name: a}, port: 80, weight: 1000001}'),
      `${R}.forwardTo[0].weight: must be an integer`,
    ],
    ['weight 1.5', backend('{name: a, port: 80, weight: 1.5}'), `${R}.backendRefs[0].weight: must be an integer`],
    ['weight as text', backend('{name: a, port: 80, weight: "1"}'), `${R}.backendRefs[0].weight: must be an integer`],
    ['no name', backend('{port: 80}'), `${R}.backendRefs[0].name: must be given`],
    ['an empty name', backend('{name: "", port: 80}'), `${R}.backendRefs[0].name: must be given`],
    ['a name that is none', backend('{name: Cart_1, port: 80}'), `${R}.backendRefs[0].name: must be an RFC 1123 name`],
    ['no backendRef', forwardTo('{port: 80}'), `${R}.forwardTo[0].backendRef: must be given`],
    ['a backendRef as text', forwardTo('{backendRef: cart, port: 80}'), `${R}.forwardTo[0].backendRef: must be an object`],
    ['a null backend', backend('null'), `${R}.backendRefs[0]: must be an object`],
    ['a backend as text', backend('cart'), `${R}.backendRefs[0]: must be an object`],
    ['backends as an object', httpRoute('[{backendRefs: {name: a, port: 80}}]'), `${R}.backendRefs: must be a list`],
    [
      'serviceName in forwardTo',
      forwardTo('{serviceName: a, port: 80}'),
      `${R}.forwardTo[0].serviceName: was removed: write backendRef: {name: "a"} and port: 80`,
    ],
    [
      'serviceName alone',
      forwardTo('{serviceName: a}'),
      `${R}.forwardTo[0].serviceName: was removed`,
      `${R}.forwardTo[0].port: must be given`,
    ],
    [
      'serviceName in backendRefs',
      backend('{serviceName: a, port: 80}'),
      `${R}.backendRefs[0].serviceName: was removed: write name: "a" and port: 80`,
    ],
    [
      'two specs by serviceName',
      forwardTo('{serviceName: a, backendRef: {name: b}, port: 80}'),
      `${R}.forwardTo[0].serviceName: was removed, and another backend stands beside it`,
    ],
    [
      'two specs by name and serviceName',
      backend('{serviceName: a, name: b, port: 80}'),
      `${R}.backendRefs[0].serviceName: was removed, and another`,
    ],
    [
      'two specs by backendRef',
      forwardTo('{backendRef: {name: b}, name: a, port: 80}'),
      `${R}.forwardTo[0]: names two backends, by backendRef and by name`,
      `${R}.forwardTo[0].name: belongs into backendRef`,
    ],
    [
      'two specs in backendRefs',
      backend('{backendRef: {name: b}, name: a, port: 80}'),
      `${R}.backendRefs[0]: names two backends`,
      `${R}.backendRefs[0].backendRef: is for forwardTo`,
    ],
    [
      'both lists',
      httpRoute('[{forwardTo: [{backendRef: {name: a}, port: 80}], backendRefs: [{name: a, port: 80}]}]'),
      `${R}.forwardTo: must not be given with backendRefs`,
    ],
    [
      'filters of a backend',
      backend('{name: a, port: 80, filters: [{type: URLRewrite, urlRewrite: {}}]}'),
      `${R}.backendRefs[0].filters[0].type: must be one of RequestHeaderModifier, ResponseHeaderModifier for a single backend`,
    ],
    [
      'two filters of a type at one backend',
      backend(
        '{name: a, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [a]}}, {type: RequestHeaderModifier, requestHeaderModifier: {remove: [b]}}]}',
      ),
      `${R}.backendRefs[0].filters[1]: is the second RequestHeaderModifier of this backend`,
    ],
    [
      'filters in forwardTo',
      forwardTo('{backendRef: {name: a}, port: 80, filters: []}'),
      `${R}.forwardTo[0].filters: is for backendRefs`,
    ],
    [
      'a port inside backendRef',
      forwardTo('{backendRef: {name: a, port: 80}, port: 80}'),
      `${R}.forwardTo[0].backendRef.port: belongs beside`,
    ],
    ['a wrong group', backend('{name: a, port: 80, group: "A B"}'), `${R}.backendRefs[0].group: must be an API group`],
    ['a wrong kind', backend('{name: a, port: 80, kind: 7}'), `${R}.backendRefs[0].kind: must be a string`],
    [
      '__proto__ in a backend',
      backend('{name: a, port: 80, __proto__: {weight: 7}}'),
      `${R}.backendRefs[0].__proto__: is not supported here`,
    ],
    ['no backend', httpRoute('[{matches: []}]'), `${R}.backendRefs: must be given unless a RequestRedirect answers`],
    ['an empty forwardTo', httpRoute('[{forwardTo: []}]'), `${R}.forwardTo: must be given unless`],
  ])('of backends: %s', (_, document, ...expected) => {
    expectViolations(document, expected);
  });
});
