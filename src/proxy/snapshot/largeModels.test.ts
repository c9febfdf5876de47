import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { get, status } from '../wire.testing.ts';

const routes = Array.from({ length: 2_048 }, (_, i) => ({ path: `/r${i}`, to: 9 }));

test('while a model of many routes is compiled, requests are served by the one in use', async () => {
  const plane = await TestPlane.start({ routes: [] });
  try {
    const asked = plane.ask(get('/'));
    let turns = 0;
    let over = false;
    const count = (): void => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    count();
    const prepared = await plane.prepare({ routes });
    over = true;
    assert.ok(turns >= routes.length / 64, `${turns} turns of the event loop`);
    assert.equal(status(await asked), 404);
    await prepared.commit();
  } finally {
    plane.close();
  }
});

test('a plane that ends while a model is compiled takes nothing of it into use', async () => {
  const plane = await TestPlane.start({ routes: [] });
  const prepared = plane.prepare({ routes });
  plane.close();
  await assert.rejects(prepared, /shutting down/);
  assert.equal(plane.plane.binds.length, 0);
});
