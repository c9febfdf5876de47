/**
 * Every policy at every place where a policy can be written: it is enforced there, or the file is refused. The
 * policies come from their table, so a new one cannot be forgotten here.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../../src/main.ts';
import {
  policiesNotBuiltOn,
  policiesOn,
  unbuiltPolicies,
  type PolicyPlace,
} from '../../src/policies/facts.ts';
import { samples, type Probe, type Sample } from '../../src/policies/samples.testing.ts';
import { loadText } from '../../src/config/load.ts';
import { renderProblem } from '../../src/config/problem.ts';

/** The table's policies with their samples; one that is not built gets an empty map, and is refused all the same. */
const all: readonly { readonly name: string; readonly sample: Sample }[] = [
  ...Object.entries(samples).map(([name, sample]) => ({ name, sample })),
  ...unbuiltPolicies.map((name) => ({ name, sample: { settings: {} } })),
];
const isOn = (place: PolicyPlace, name: string): boolean => policiesOn(place).some((one) => one === name);

const config = {
  adminAddr: 'off',
  statsAddr: 'off',
  readinessAddr: 'off',
  logging: { level: 'error', accessLog: 'none' },
};
const answers = { directResponse: { status: 200 } };
const routes = [{ matches: [{ path: { pathPrefix: '/routed' } }], policies: answers }];

type Policy = Readonly<Record<string, unknown>>;

interface Written {
  /** The place in the table of policies; undefined: no policy is taken there. */
  readonly place: PolicyPlace | undefined;
  readonly document: (policy: Policy) => unknown;
}

const inGateway =
  (gateway: (policy: Policy) => object, more: object = { routes }): Written['document'] =>
  (policy) => ({ config, gateways: { default: { port: 0, ...gateway(policy) } }, ...more });
const inBind =
  (bind: (policy: Policy) => object): Written['document'] =>
  (policy) => ({ config, binds: [{ port: 0, listeners: [{ routes }], ...bind(policy) }] });
const raw = (protocol: string): [string, Written][] => [
  [
    `a gateway of protocol ${protocol}`,
    { place: undefined, document: inGateway((policy) => ({ protocol, ...policy }), {}) },
  ],
  [
    `a listener of a gateway, of protocol ${protocol}`,
    { place: undefined, document: inGateway((policy) => ({ listeners: [{ protocol, ...policy }] }), {}) },
  ],
  [
    `a listener of a bind, of protocol ${protocol}`,
    {
      place: undefined,
      document: inBind((policies) => ({
        listeners: [{ protocol, ...(Object.keys(policies).length === 0 ? {} : { policies }) }],
      })),
    },
  ],
];

const written: readonly (readonly [string, Written])[] = [
  ['a gateway', { place: 'listener', document: inGateway((policy) => policy) }],
  [
    'a gateway with listeners',
    { place: undefined, document: inGateway((policy) => ({ listeners: [{ name: 'web' }], ...policy })) },
  ],
  [
    'a listener of a gateway',
    { place: 'listener', document: inGateway((policy) => ({ listeners: [policy] })) },
  ],
  [
    'the second listener of a gateway',
    {
      place: 'listener',
      document: inGateway((policy) => ({ listeners: [{ hostname: 'other.test' }, { ...policy }] })),
    },
  ],
  ['a bind', { place: undefined, document: inBind((policy) => policy) }],
  ['the policies of a bind', { place: undefined, document: inBind((policies) => ({ policies })) }],
  [
    'a listener of a bind',
    { place: undefined, document: inBind((policy) => ({ listeners: [{ routes, ...policy }] })) },
  ],
  [
    'the policies of a listener of a bind',
    { place: 'listener', document: inBind((policies) => ({ listeners: [{ routes, policies }] })) },
  ],
  [
    'the top level',
    {
      place: undefined,
      document: (policy) => ({ config, gateways: { default: { port: 0 } }, routes, ...policy }),
    },
  ],
  [
    'the policies of the top level',
    {
      place: undefined,
      document: (policies) => ({ config, gateways: { default: { port: 0 } }, routes, policies }),
    },
  ],
  ...raw('TCP'),
  ...raw('TLS'),
  ...raw('UDP'),
];

/** Places that the format does not have, so that they are refused even where they are empty. */
const notThere = ['the policies of a bind', 'the policies of the top level'];

const load = (document: unknown) => loadText(JSON.stringify(document), { file: 'c.yaml', env: {} });

/** Asks for what a route takes, and for what no route takes. */
async function isEnforced(
  document: unknown,
  { method = 'GET', headers = {}, sign, expected }: Probe,
): Promise<void> {
  const gateway = await startGateway({
    source: { text: JSON.stringify(document) },
    env: {},
    version: 'test',
  });
  try {
    const base = `http://127.0.0.1:${gateway.binds[0]?.port ?? 0}`;
    for (const path of ['/routed', '/unrouted']) {
      const answer = await fetch(base + path, { method, headers });
      await answer.text();
      assert.equal(sign(answer), expected, path);
    }
  } finally {
    await gateway.closeNow();
  }
}

for (const [where, { place, document }] of written)
  test(`every policy on ${where} is enforced, or the file is refused`, async () => {
    const without = load(document({}));
    if (!notThere.includes(where)) assert.ok(without.ok, 'without a policy the file is valid');
    let enforced = 0;
    for (const { name, sample } of all) {
      const file = document({ [name]: sample.settings });
      const result = load(file);
      if (place === undefined || !isOn(place, name)) {
        assert.ok(!result.ok, `${name} on ${where} is taken and read by nothing`);
        const told = result.problems.map(renderProblem).join('\n');
        assert.match(told, new RegExp(`\\b${name}\\b|\\bpolicies\\b`), told);
        continue;
      }
      assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
      assert.ok(sample.probe !== undefined, `${name} may stand on ${where} and has no probe`);
      await isEnforced(file, sample.probe);
      enforced++;
    }
    assert.equal(enforced > 0, place !== undefined);
  });

test('every policy of the table may stand somewhere, or is refused by name', () => {
  const places = ['listener', 'route', 'backend', 'mcpBackend', 'service', 'target'] as const;
  for (const { name } of all)
    assert.ok(
      places.some((place) => isOn(place, name) || policiesNotBuiltOn(place).includes(name)),
      name,
    );
});

test('a policy that a place has, and this version has not, is refused as known', () => {
  for (const { name, sample } of all)
    for (const [place, document] of [
      ['listener', inBind((policies) => ({ listeners: [{ routes, policies }] }))],
      ['route', inBind((policies) => ({ listeners: [{ routes: [{ policies }] }] }))],
      [
        'backend',
        inBind((policies) => ({
          listeners: [{ routes: [{ backends: [{ host: '127.0.0.1:9', policies }] }] }],
        })),
      ],
      [
        'mcpBackend',
        inBind((policies) => ({
          listeners: [
            {
              routes: [
                {
                  backends: [
                    { mcp: { targets: [{ name: 't', mcp: { host: 'http://127.0.0.1:9' } }] }, policies },
                  ],
                },
              ],
            },
          ],
        })),
      ],
      [
        'target',
        inBind((policies) => ({
          listeners: [
            {
              routes: [
                {
                  backends: [
                    { mcp: { targets: [{ name: 't', mcp: { host: 'http://127.0.0.1:9' }, policies }] } },
                  ],
                },
              ],
            },
          ],
        })),
      ],
    ] as const) {
      const result = load(document({ [name]: sample.settings }));
      const told = result.ok ? 'taken' : result.problems.map(renderProblem).join('\n');
      if (isOn(place, name)) assert.equal(told, 'taken', `${name} on a ${place}`);
      else if (place === 'backend' && isOn('mcpBackend', name)) assert.match(told, /is for MCP backends/);
      else if (place === 'mcpBackend' && isOn('backend', name)) assert.match(told, /is for HTTP backends/);
      else if (place === 'mcpBackend' && policiesNotBuiltOn('backend').includes(name))
        assert.match(told, /known, but not built yet/, `${name} on a ${place}`);
      else if (policiesNotBuiltOn(place).includes(name))
        assert.match(told, /known, but not built yet/, `${name} on a ${place}`);
      else assert.match(told, /unknown field/, `${name} on a ${place}`);
    }
});
