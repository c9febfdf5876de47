import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults, type FixedSettings, type Model, type ProcessSettings } from '../model/index.ts';
import { withOwnSettings } from './ownSettings.ts';

const settings = (fixed: Partial<FixedSettings>, zone?: string): ProcessSettings => ({
  ...defaults,
  fixed: { ...defaults.fixed, ...fixed },
  upstream: { ...defaults.upstream, ...(zone === undefined ? {} : { zone }) },
});
const modelOf = (process: ProcessSettings): Model => ({ process, binds: [] });
const [common, own] = ['ab'.repeat(32), 'cd'.repeat(32)];

test('startup settings and the zone come from the process, not from the controller', () => {
  const told = modelOf(settings({ workers: 7, sessionTtlMs: 1 }, 'theirs'));
  const mine = settings({ workers: 2 }, 'mine');
  assert.deepEqual(withOwnSettings(told, mine).process, mine);
});

test('the session key is that of the controller, unless the process has one', () => {
  const told = modelOf(settings({ sessionKey: common }));
  assert.equal(withOwnSettings(told, settings({})).process.fixed.sessionKey, common);
  assert.equal(withOwnSettings(told, settings({ sessionKey: own })).process.fixed.sessionKey, own);
  assert.equal('sessionKey' in withOwnSettings(modelOf(defaults), defaults).process.fixed, false);
});

test('everything else is as the controller says', () => {
  const told = modelOf({ ...defaults, limits: { ...defaults.limits, maxRequests: 3 } });
  assert.equal(withOwnSettings(told, defaults).process.limits.maxRequests, 3);
});

test('the form and the fields of the access log come from the process', () => {
  const told = modelOf({ ...defaults, accessLog: 'text', accessFields: { remove: ['client'] } });
  const { accessLog, accessFields } = withOwnSettings(told, { ...defaults, accessLog: 'json' }).process;
  assert.deepEqual([accessLog, accessFields], ['json', undefined]);
  const own: ProcessSettings = { ...defaults, accessFields: { filter: 'true' } };
  assert.deepEqual(withOwnSettings(told, own).process.accessFields, { filter: 'true' });
});

test('no port of a controller is needed: one that cannot be bound must not keep the others from being served', () => {
  const told: Model = { process: defaults, binds: [{ port: 80, listeners: [] }] };
  assert.deepEqual(withOwnSettings(told, defaults).binds, [{ port: 80, listeners: [], optional: true }]);
});
