/** Every policy of the table for every kind of target: it is in the model, or what it is for is closed and says so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpTarget, PolicyUse } from '../../model/index.ts';
import { policyNames, unbuiltPolicies } from '../../policies/facts.ts';
import { samples } from '../../policies/samples.testing.ts';
import type { GatewayPolicy, PolicyAncestorStatus } from '../types/index.ts';
import { translate, type Translation } from './index.ts';
import { gateWith, readObjects } from './objects.testing.ts';
import { connectionNames, requestPolicies, targetKinds } from './policyKinds.ts';

/** Settings of Services alone, by name. */
const ofServices: Readonly<Record<string, unknown>> = {
  health: { check: { path: '/health' } },
  connections: { maxConnections: 1 },
  tcp: { connectTimeout: '1s' },
  http: { requestTimeout: '1s' },
};

/** Settings as a GatewayPolicy has them. */
function settingsOf(name: string): unknown {
  const sample = Object.entries(samples).find(([policy]) => policy === name)?.[1];
  const settings = sample === undefined ? ofServices[name] : (sample.onCluster ?? sample.settings);
  assert.ok(settings !== undefined || !connectionNames.some((one) => one === name), `${name} has no sample`);
  return settings ?? {};
}

const names = [...Object.keys(policyNames), ...unbuiltPolicies, ...connectionNames].filter(
  (name, index, all) => all.indexOf(name) === index,
);

const base = readObjects(`
kind: GatewayClass
metadata: { name: portcullis }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Secret
metadata: { name: key }
data: { api-key: ${Buffer.from('a-long-enough-key').toString('base64')} }
---
kind: Secret
metadata: { name: client }
data: { client-secret: ${Buffer.from('a secret of a client').toString('base64')} }
---
kind: Service
metadata: { name: app }
spec: { ports: [{ port: 80, name: web }] }
---
kind: McpBackend
metadata: { name: tools }
spec: { targets: [{ name: a, service: { name: app, port: 80 } }] }
---
kind: Gateway
metadata: { name: gate }
spec:
  gatewayClassName: portcullis
  allowedListeners: { namespaces: { from: All } }
  listeners: [{ name: web, port: 80, protocol: HTTP }]
---
kind: ListenerSet
metadata: { name: more }
spec:
  parentRef: { name: gate }
  listeners: [{ name: set, port: 81, protocol: HTTP }]
---
kind: HTTPRoute
metadata: { name: app }
spec:
  parentRefs: [{ name: gate }, { kind: ListenerSet, name: more }]
  hostnames: [http.test]
  rules: [{ name: rule, backendRefs: [{ name: app, port: 80 }] }]
---
kind: GRPCRoute
metadata: { name: calls }
spec:
  parentRefs: [{ name: gate }]
  hostnames: [grpc.test]
  rules: [{ name: rule, backendRefs: [{ name: app, port: 80 }] }]
---
kind: HTTPRoute
metadata: { name: mcp }
spec:
  parentRefs: [{ name: gate }]
  hostnames: [mcp.test]
  rules: [{ backendRefs: [{ group: portcullis.dev, kind: McpBackend, name: tools }] }]
`);

/** The subject of a policy for each kind of target: the listener and the route whose requests meet it. */
const met: Readonly<Record<string, { target: string; section: string; listener: string; route: string }>> = {
  Gateway: { target: 'gate', section: 'web', listener: 'web', route: 'HTTPRoute/default/app' },
  ListenerSet: { target: 'more', section: 'set', listener: 'set', route: 'HTTPRoute/default/app' },
  HTTPRoute: { target: 'app', section: 'rule', listener: 'web', route: 'HTTPRoute/default/app' },
  GRPCRoute: { target: 'calls', section: 'rule', listener: 'web', route: 'GRPCRoute/default/calls' },
  McpBackend: { target: 'tools', section: 'a', listener: 'web', route: 'HTTPRoute/default/mcp' },
  Service: { target: 'app', section: 'web', listener: 'web', route: 'HTTPRoute/default/app' },
};

function ruleOf({ models }: Translation, listener: string, route: string) {
  const [gateway] = models.values();
  const rules = (gateway?.model.binds ?? [])
    .flatMap(({ listeners }) => listeners)
    .filter(({ name }) => name.endsWith(listener))
    .flatMap((one) => ('routes' in one ? one.routes : []))
    .filter(({ name }) => name.startsWith(route));
  assert.equal(rules.length, 1, `${route} on ${listener}`);
  return rules[0];
}

const reasonsIn = ({ report }: Translation): (string | undefined)[] =>
  (
    report.find(({ kind }) => kind === 'GatewayPolicy')?.status as {
      readonly ancestors: readonly PolicyAncestorStatus[];
    }
  ).ancestors.flatMap(({ conditions = [] }) =>
    conditions.filter(({ type }) => type === 'Accepted').map(({ reason }) => reason),
  );

const policiesOf = (target: McpTarget): readonly PolicyUse[] =>
  'policies' in target ? (target.policies ?? []) : [];

const plain = translate(base.objects, base.options);

/** The translation with a policy for one target. */
function translationWith(
  name: string,
  target: { readonly group: string; readonly kind: string; readonly name: string },
): Translation {
  const policy = {
    kind: 'GatewayPolicy',
    metadata: { name: 'one', namespace: 'default', generation: 1 },
    spec: { targetRefs: [target], policies: { [name]: settingsOf(name) } },
  } as unknown as GatewayPolicy;
  return translate({ ...base.objects, gatewayPolicies: [policy] }, base.options);
}

test('the sample of each request policy is accepted for a route, so that the tests below see it at work', () => {
  const target = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'app' };
  for (const name of requestPolicies)
    assert.deepEqual(reasonsIn(translationWith(name, target)), ['Accepted'], name);
});

for (const { group, kind } of targetKinds)
  test(`every policy for a target of kind ${kind} is enforced, or the target is closed and the status says why`, () => {
    const at = met[kind];
    assert.ok(at !== undefined, `no target of kind ${kind} in this test`);
    for (const name of names)
      for (const sectionName of [undefined, at.section] as const) {
        const target = { group, kind, name: at.target, ...(sectionName && { sectionName }) };
        const translation = translationWith(name, target);
        const rule = ruleOf(translation, at.listener, at.route);
        const before = ruleOf(plain, at.listener, at.route);
        const what: string = `${name} on ${kind} ${sectionName ?? ''}`;
        const [backend] = rule?.backends ?? [];
        if (backend?.kind === 'invalid') {
          assert.ok(reasonsIn(translation).includes('Invalid'), `${what} is closed and does not say so`);
          continue;
        }
        const steps = [
          ...(rule?.policies ?? []),
          ...(backend?.kind === 'http' ? (backend.policies ?? []) : []),
          ...(backend?.kind === 'mcp' ? backend.targets.flatMap(policiesOf) : []),
        ];
        const enforced = steps.some((step) => step.name === name);
        const connected = connectionNames.some((one) => one === name);
        if (connected)
          assert.notDeepEqual(backend, before?.backends[0], `${what} is taken and read by nothing`);
        else assert.ok(enforced, `${what} is taken and read by nothing`);
        assert.deepEqual(reasonsIn(translation), ['Accepted'], what);
      }
  });

test('a policy for a Gateway of which no listener speaks HTTP is refused, for nothing would read it', () => {
  const { objects, options } = readObjects(`${gateWith('{ name: raw, port: 80, protocol: TCP }')}
kind: GatewayPolicy
metadata: { name: one }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: Gateway, name: gate }]
  policies: { authorization: { rules: [{ deny: 'true' }] } }
`);
  assert.deepEqual(reasonsIn(translate(objects, options)), ['Invalid']);
});
