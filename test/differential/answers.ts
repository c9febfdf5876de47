/** The answers of the test client to the questions of servers. */

interface Question {
  readonly method: string;
  readonly params?: {
    readonly task?: object;
    readonly taskId?: string;
    readonly requestedSchema?: { readonly properties?: object };
  };
}

const time = '2026-01-01T00:00:00.000Z';
const task = (taskId: string, status: string): object => ({
  taskId,
  status,
  createdAt: time,
  lastUpdatedAt: time,
  ttl: 60_000,
  pollInterval: 10,
});

const sample = {
  model: 'test-model',
  role: 'assistant',
  content: { type: 'text', text: 'a sampled answer: Grüße, 世界 🌍' },
  stopReason: 'endTurn',
};
const content = {
  name: 'Ada Lovelace',
  check: true,
  username: 'ada',
  email: 'ada@example.com',
  interpretation: 'historical',
};

/** Fills in the members that a form asks for. */
function filled(properties: object): object {
  return {
    action: 'accept',
    content: Object.fromEntries(Object.entries(content).filter(([name]) => name in properties)),
  };
}

/** The usual result, or undefined for a method that the client does not know. */
export function usualResult({ method, params = {} }: Question, roots: readonly object[]): object | undefined {
  switch (method) {
    case 'ping':
      return {};
    case 'roots/list':
      return { roots };
    case 'sampling/createMessage':
      return params.task === undefined ? sample : { task: task('sample', 'working') };
    case 'elicitation/create':
      if (params.task !== undefined) return { task: task('form', 'working') };
      return filled(params.requestedSchema?.properties ?? {});
    case 'tasks/get':
      return task(params.taskId ?? '', 'completed');
    case 'tasks/result':
      return params.taskId === 'sample' ? sample : filled({ name: true });
    default:
      return undefined;
  }
}
