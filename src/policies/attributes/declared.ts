import type { Declared, Members } from '../../cel/index.ts';

/** The attributes that the configuration format knows, and which of them expressions may use here. */

const text: Declared = { kind: 'value', type: 'string' };
const list: Declared = { kind: 'value', type: 'list' };
const whole: Declared = { kind: 'value', type: 'int' };
const time: Declared = { kind: 'value', type: 'google.protobuf.Duration' };
const absent = (why: string): Declared => ({ kind: 'absent', why });
const object = (members: Members): Declared => ({ kind: 'object', members });

const body = absent('bodies pass through unread');
const ended = absent('the request has not ended when policies run');
const answer = absent('there is no answer yet when policies run; mcpGuardrails judges results of tools');
const notSent = absent('nothing was sent to a backend yet when policies run');
const notHere: Declared = { kind: 'absent', why: 'its policy does not exist here', notBuilt: true };

const claims: Declared = {
  kind: 'claims',
  absent: { rawToken: 'expressions never see the token itself' },
};

/** The port, listener and route of a request; timings if there are some. */
const proxy = (timings: Members): Declared =>
  object({
    bind: text,
    gateway: object({ namespace: text, name: text }),
    listener: object({ name: text }),
    route: object({ namespace: text, name: text, kind: text, rule: text }),
    requestProcessingDuration: notSent,
    upstreamDuration: notSent,
    responseProcessingDuration: absent('the answer has not been sent when policies run'),
    ...timings,
  });

const item = object({ name: text, target: text });

const requestMembers: Members = {
  method: text,
  uri: text,
  host: text,
  scheme: text,
  path: text,
  pathAndQuery: text,
  version: text,
  headers: { kind: 'headers' },
  startTime: text,
};

/** Available whenever a request is judged. */
export const requestAttributes: Members = {
  request: object({
    ...requestMembers,
    body,
    bodyPrefix: body,
    endTime: ended,
  }),
  jwt: claims,
  auth: object({ claims }),
  apiKey: { kind: 'claims', absent: { key: 'expressions never see the key itself' } },
  basicAuth: object({ username: text }),
  source: object({
    address: text,
    port: whole,
    network: text,
    rawAddress: text,
    rawPort: whole,
    identity: object({ trustDomain: text, namespace: text, serviceAccount: text }),
    spiffeId: text,
    subjectAltNames: list,
    issuer: text,
    subject: text,
    subjectCn: text,
    certificate: text,
    unverifiedWorkload: absent('there is no workload discovery'),
    connectHeaders: absent('CONNECT is not served'),
  }),
  destination: object({
    address: text,
    port: whole,
    hostname: text,
  }),
  env: object({ podName: text, namespace: text, gateway: text }),

  mcp: absent('only the rules of mcpAuthorization and mcpAuthentication see MCP items'),
  proxy: proxy({}),
  backend: absent('no backend is chosen yet when policies run'),
  response: answer,
  llm: notHere,
  llmRequest: notHere,
  extauthz: { kind: 'claims', absent: {} },
  extproc: notHere,
  mcpGuardrails: notHere,
  metadata: notHere,
};

const unknownCaller = absent('a request is sampled before its policies know the caller');
const unrouted = absent('a request is sampled before it has a listener and a route');

/** Available where a request is sampled for a trace: when it begins, before everything else. */
export const samplingAttributes: Members = {
  ...requestAttributes,
  jwt: unknownCaller,
  auth: unknownCaller,
  apiKey: unknownCaller,
  basicAuth: unknownCaller,
  extauthz: unknownCaller,
  proxy: object({ bind: text, gateway: unrouted, listener: unrouted, route: unrouted }),
};

/** Available where a backend is chosen. */
export const forwardAttributes: Members = {
  ...requestAttributes,
  backend: object({ name: text, type: text, protocol: text }),
  response: absent('there is no answer yet when precondition decides; condition sees the answer'),
};

/** Available where the head of the backend's answer is judged. */
export const answerAttributes: Members = {
  ...forwardAttributes,
  proxy: proxy({ requestProcessingDuration: time, upstreamDuration: time }),
  response: object({
    code: whole,
    headers: { kind: 'headers' },
    grpcStatus: whole,
    body,
    bodyPrefix: body,
  }),
};

/** Available where the answer of a service of extAuthz over HTTP is read. */
export const authorizedAttributes: Members = {
  ...requestAttributes,
  response: object({ code: whole, headers: { kind: 'headers' }, body: { kind: 'value', type: 'bytes' } }),
};

/** Available where the head that the client gets is changed. */
export const sentAnswerAttributes: Members = {
  ...answerAttributes,
  backend: absent('only retry and the access log know the backend'),
};

const notLogged = absent('the audit stream records the contents of calls');

/** Available when a request has ended, in fields of the access log and of spans. Values that do not apply are absent. */
export const endedAttributes: Members = {
  ...answerAttributes,
  request: object({
    ...requestMembers,
    endTime: text,
    body,
    bodyPrefix: body,
  }),
  backend: object({ name: text, type: text, protocol: text }),
  mcpGuardrails: { kind: 'claims', absent: {} },
  proxy: proxy({
    requestProcessingDuration: time,
    upstreamDuration: time,
    responseProcessingDuration: time,
  }),
  mcp: object({
    methodName: text,
    sessionId: absent('session ids are credentials; the field mcp.session names the session'),
    tool: object({
      name: text,
      target: text,
      arguments: notLogged,
      result: notLogged,
      error: notLogged,
    }),
    prompt: item,
    resource: item,
    task: absent('the access log does not name tasks'),
  }),
};

/**
 * Available where one MCP item is judged: exactly one of `tool`, `prompt`, `resource` is set. `methodName`, `sessionId`,
 * `task` and the arguments are unknown where items are listed.
 */
export const itemAttributes: Members = {
  ...requestAttributes,
  mcp: object({
    tool: object({
      name: text,
      target: text,
      arguments: { kind: 'claims', absent: {} },
      result: answer,
      error: answer,
    }),
    prompt: item,
    resource: item,
    task: item,
    methodName: text,
    sessionId: text,
  }),
};

const uncounted = absent(
  'each value of an argument would be a counter of its own, and callers choose the values; use mcp.tool.name or a claim',
);

/** Available where the uses of MCP items are counted: exactly one of `tool`, `prompt`, `resource` is set. */
export const countedAttributes: Members = {
  ...requestAttributes,
  mcp: object({
    tool: object({ name: text, target: text, arguments: uncounted, result: answer, error: answer }),
    prompt: item,
    resource: item,
    task: absent('a task is counted with the call that began it'),
    methodName: text,
    sessionId: text,
  }),
};
