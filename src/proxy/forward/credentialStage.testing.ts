import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type RouteInShort } from '../dataPlane.testing.ts';
import { ok, RawBackend } from '../wire.testing.ts';

export interface Stage {
  readonly plane: TestPlane;
  /** Sends a request; the status, and the fields that the backend got with it. */
  ask(headers?: Record<string, string>): Promise<{ status: number; body: string; got: Headers | undefined }>;
}

/** A gateway with one route, whose backend remembers the fields of its requests. */
export async function stage(
  t: TestContext,
  backendAuth: object,
  others: NonNullable<RouteInShort['policies']> = {},
): Promise<Stage> {
  let got: Headers | undefined;
  const backend = await RawBackend.start({
    onRequest: (request, connection) => {
      got = new Headers();
      for (const [name, value] of request.lines) got.append(name, value);
      connection.send(ok('fine'));
    },
  });
  const settings = policySchemas.backendAuth.parse(backendAuth);
  const plane = await TestPlane.start({
    routes: [{ to: backend.port, policies: { ...others, backendAuth: settings } }],
  });
  t.after(() => {
    plane.close();
    return backend.close();
  });
  return {
    plane,
    async ask(headers = {}) {
      got = undefined;
      const response = await fetch(`http://127.0.0.1:${String(plane.port)}/`, { headers });
      return { status: response.status, body: await response.text(), got };
    },
  };
}

/** The bearer token that the backend got. */
export const tokenOf = (got: Headers | undefined): string => {
  const value = got?.get('authorization') ?? '';
  assert.match(value, /^Bearer ./);
  return value.slice('Bearer '.length);
};
