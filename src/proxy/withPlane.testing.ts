import assert from 'node:assert/strict';
import { TestPlane, type ModelInShort } from './dataPlane.testing.ts';
import { until } from '../until.testing.ts';
import { ok, RawBackend, type BackendScript } from './wire.testing.ts';

/** A backend that answers with the body it got. */
export const echo: BackendScript = {
  onRequest: (request, connection) => connection.send(ok(request.body.toString())),
};

/**
 * Runs `body` with a backend that follows `script`, and checks that nothing is left of the clients and that no error
 * was logged but `errors`.
 */
export async function withPlane(
  script: BackendScript,
  model: ModelInShort,
  body: (plane: TestPlane, backend: RawBackend) => Promise<void>,
  errors: readonly string[] = [],
): Promise<void> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ routes: [{ to: backend.port }], ...model });
  try {
    await body(plane, backend);
    await until('no client connection is left', () => plane.connections === 0);
    assert.match(await plane.metricsText(), /^portcullis_requests_in_flight 0$/m);
  } finally {
    plane.close();
    await backend.close();
  }
  assert.deepEqual(
    plane.log.filter(({ level }) => level === 'error').map(({ message }) => message),
    errors,
  );
}
