import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podAnnotations } from './annotations.ts';

const given = {
  plain: 'a',
  'prometheus.io/scrape': 'true',
  'app.kubernetes.io/part-of': 'shop',
  'k8s.v1.cni.cncf.io/networks': 'management',
  'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/admin',
  'prometheus.io.example.com/x': 'b',
  'sub.prometheus.io/x': 'c',
};

test('pods take annotations without a prefix and with a usual one, and no others', () => {
  assert.deepEqual(Object.keys(podAnnotations(given)), [
    'plain',
    'prometheus.io/scrape',
    'app.kubernetes.io/part-of',
  ]);
});

test('the parameters name other prefixes', () => {
  assert.deepEqual(Object.keys(podAnnotations(given, ['k8s.v1.cni.cncf.io'])), [
    'plain',
    'k8s.v1.cni.cncf.io/networks',
  ]);
  assert.deepEqual(Object.keys(podAnnotations(given, [])), ['plain']);
});
