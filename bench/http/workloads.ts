/** The requests to every proxy. All paths lie under one prefix that each of them routes by host and path. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  /** Bytes of the answer's body; checked before anything is measured. */
  readonly answerBytes: number;
  /** The least duration of a sample, for workloads with few answers a second. */
  readonly leastSeconds?: number;
}

/** The answer to small requests. */
export const smallAnswer = JSON.stringify({
  order: 4711,
  state: 'shipped',
  items: [{ sku: 'A-100', count: 2 }],
  total: '59.80',
  currency: 'EUR',
  note: '#'.repeat(4),
});

const toolsCall = JSON.stringify({
  jsonrpc: '2.0',
  id: 17,
  method: 'tools/call',
  params: {
    name: 'search_orders',
    arguments: { query: 'state:shipped customer:4711', limit: 20, fields: ['order', 'state', 'total'] },
    _meta: { progressToken: 'c1b7e0d4-5a7e-4f0a-9d5e-2f6a1b3c4d5e', client: 'bench', padding: '#'.repeat(7) },
  },
});

export const small: Workload = {
  name: 'get',
  title: `GET, ${smallAnswer.length} B answer`,
  method: 'GET',
  path: '/v2/orders/4711?expand=items',
  answerBytes: smallAnswer.length,
};

export const post: Workload = {
  name: 'post',
  title: `POST of ${toolsCall.length} B, ${smallAnswer.length} B answer`,
  method: 'POST',
  path: '/v2/orders',
  body: toolsCall,
  answerBytes: smallAnswer.length,
};

export const tenKilobytes: Workload = {
  name: '10k',
  title: 'GET, 10 KB answer',
  method: 'GET',
  path: '/v2/files/10k',
  answerBytes: 10_240,
};

export const oneMegabyte: Workload = {
  name: '1m',
  title: 'GET, 1 MB answer',
  method: 'GET',
  path: '/v2/files/1m',
  answerBytes: 1_048_576,
  // The first answer of each connection is slow, for its windows are small: they must be fewer than one in a hundred,
  // or p99 tells of nothing else.
  leastSeconds: 6,
};

export const everyRoute: Workload = {
  name: 'routes',
  title: `GET, ${smallAnswer.length} B answer, every route in turn`,
  method: 'GET',
  path: '/v2/orders/r0/4711?expand=items',
  answerBytes: smallAnswer.length,
};
