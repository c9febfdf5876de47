import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyStatus } from '../types/index.ts';
import { translate } from './index.ts';
import { gateWith, readObjects } from './objects.testing.ts';

/** A route to the ports `http` and `admin` of a Service, and a BackendTLSPolicy for each of the names. */
function translated(...sectionNames: readonly string[]) {
  const policies = sectionNames.map(
    (sectionName) => `---
kind: BackendTLSPolicy
metadata: { name: for-${sectionName} }
spec:
  targetRefs: [{ group: '', kind: Service, name: app, sectionName: ${sectionName} }]
  validation: { hostname: ${sectionName}.internal, wellKnownCACertificates: System }
`,
  );
  const { objects, options } = readObjects(`${gateWith('{ name: web, port: 80, protocol: HTTP }')}
kind: Service
metadata: { name: app }
spec: { ports: [{ name: http, port: 80 }, { name: admin, port: 81 }] }
---
kind: HTTPRoute
metadata: { name: app }
spec:
  parentRefs: [{ name: gate }]
  rules:
    - { matches: [{ path: { value: /http } }], backendRefs: [{ name: app, port: 80 }] }
    - { matches: [{ path: { value: /admin } }], backendRefs: [{ name: app, port: 81 }] }
${policies.join('')}`);
  const { models, report } = translate(objects, options);
  const [listener] = models.get('default/gate')?.model.binds[0]?.listeners ?? [];
  assert.ok(listener !== undefined && 'routes' in listener);
  const route = report.find(({ kind }) => kind === 'HTTPRoute')?.status as {
    parents: readonly { conditions: readonly { type: string; message: string }[] }[];
  };
  return {
    /** The host name that the certificate of each backend must have; undefined for plain text. */
    backends: listener.routes.map(({ backends: [backend] }) =>
      backend?.kind === 'http' ? backend.tls?.hostname : backend?.kind,
    ),
    routeProblem: route.parents[0]?.conditions.find(({ type }) => type === 'ResolvedRefs')?.message,
    accepted: report
      .filter(({ kind }) => kind === 'BackendTLSPolicy')
      .map(({ name, status }) => {
        const { ancestors = [] } = status as PolicyStatus;
        const condition = ancestors[0]?.conditions?.find(({ type }) => type === 'Accepted');
        return [name, condition?.reason, condition?.message];
      }),
  };
}

test('a BackendTLSPolicy for a port that its Service does not have is not accepted, and nothing goes without TLS', () => {
  const { backends, routeProblem, accepted } = translated('https');
  const message = 'Service default/app: no port of it is called https';
  assert.deepEqual(accepted, [['for-https', 'TargetNotFound', message]]);
  assert.deepEqual(backends, ['invalid', 'invalid']);
  assert.equal(routeProblem, `Service default/app: BackendTLSPolicy default/for-https: ${message}`);
});

test('a port with its own BackendTLSPolicy works beside a policy for a port that is not there', () => {
  const { backends, accepted } = translated('http', 'https');
  assert.deepEqual(
    accepted.map(([name, reason]) => [name, reason]),
    [
      ['for-http', 'Accepted'],
      ['for-https', 'TargetNotFound'],
    ],
  );
  assert.deepEqual(backends, ['http.internal', 'invalid']);
});

test('a port without a BackendTLSPolicy gets plain text where every policy names a port of the Service', () => {
  assert.deepEqual(translated('http').backends, ['http.internal', undefined]);
});
