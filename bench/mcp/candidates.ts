import type { Program } from '../tools.ts';
import type { HttpEndpoint } from './httpConfiguration.ts';
import {
  startBeforeHttp,
  startBeforeStdio,
  startMcpProxy,
  startSupergateway,
  type McpSetting,
  type RunningGateway,
} from './gateways.ts';
import type { Work } from './client.ts';

/** A row: a way to the echo server, and the load on it. */
export interface McpCandidate {
  readonly name: string;
  readonly title: string;
  /** The program that must be installed. */
  readonly needs?: Program;
  /** The servers run on the load generator's core; otherwise on the gateway's, where its children are anyway. */
  readonly apart?: true;
  readonly sessions: number;
  readonly work: Work;
  /** Absent: the clients start the servers themselves. */
  readonly start?: (setting: McpSetting) => Promise<RunningGateway>;
}

/** Sessions of a usual row; stdio servers are a process for each of them. */
export const few = 32;
/** Sessions over HTTP alone: so many children would measure the machine. */
export const many = 512;

/** Tools behind the federation. */
export const allTools = 300;

const call: Work = { method: 'tools/call', tool: 'echo', era: 'legacy' };
/** A tool of one of ten targets. */
const callOfOne: Work = { ...call, tool: 't7_echo' };
const list: Work = { method: 'tools/list', tools: allTools, era: 'legacy' };
const modern = { era: 'modern' } as const;

const overHttp = (
  name: string,
  title: string,
  endpoint: HttpEndpoint,
  work: Work,
  sessions = few,
): McpCandidate => ({
  name,
  title,
  apart: true,
  sessions,
  work,
  start: (setting) => startBeforeHttp(setting, endpoint),
});

export const candidates: readonly McpCandidate[] = [
  { name: 'direct', title: 'the server alone, over stdio', sessions: few, work: call },
  {
    name: 'portcullis',
    title: 'portcullis, token and rule',
    sessions: few,
    work: call,
    start: (setting) => startBeforeStdio(setting),
  },
  {
    name: 'portcullis-shared',
    title: 'portcullis, token and rule, `scope: shared`: one server for all',
    sessions: few,
    work: call,
    start: (setting) => startBeforeStdio(setting, '/shared'),
  },
  {
    name: 'portcullis-modern',
    title: 'portcullis, token and rule, modern clients, who share one server of the legacy era',
    sessions: few,
    work: { ...call, ...modern },
    start: (setting) => startBeforeStdio(setting),
  },
  {
    name: 'supergateway',
    title: 'supergateway as it comes (logs every message)',
    needs: 'supergateway',
    sessions: few,
    work: call,
    start: (setting) => startSupergateway(setting, 'info'),
  },
  {
    name: 'supergateway-silent',
    title: 'supergateway with `--logLevel none`',
    needs: 'supergateway',
    sessions: few,
    work: call,
    start: (setting) => startSupergateway(setting, 'none'),
  },
  {
    name: 'mcp-proxy',
    title: 'mcp-proxy, no token, one server for all',
    needs: 'mcp-proxy',
    sessions: few,
    work: call,
    start: startMcpProxy,
  },
  {
    name: 'portcullis-apart',
    title: 'portcullis, token and rule, servers on the other core',
    apart: true,
    sessions: few,
    work: call,
    start: (setting) => startBeforeStdio(setting),
  },
  {
    name: 'supergateway-apart',
    title: 'supergateway as it comes, servers on the other core',
    needs: 'supergateway',
    apart: true,
    sessions: few,
    work: call,
    start: (setting) => startSupergateway(setting, 'info'),
  },
  overHttp('portcullis-http', 'one server over HTTP', '/one', call),
  {
    ...overHttp(
      'portcullis-http-audited',
      'one server over HTTP, and an audit stream with a chain',
      '/one',
      call,
    ),
    start: (setting) => startBeforeHttp(setting, '/one', true),
  },
  overHttp('portcullis-http-many', 'one server over HTTP', '/one', call, many),
  overHttp('portcullis-federation', 'ten servers over HTTP with 300 tools', '/ten', callOfOne),
  overHttp('portcullis-federation-many', 'ten servers over HTTP with 300 tools', '/ten', callOfOne, many),
  overHttp('portcullis-http-modern', 'a modern client and a modern server', '/one-modern', {
    ...call,
    ...modern,
  }),
  overHttp(
    'portcullis-http-modern-many',
    'a modern client and a modern server',
    '/one-modern',
    { ...call, ...modern },
    many,
  ),
  overHttp('portcullis-http-down', 'a modern client and a legacy server', '/one', { ...call, ...modern }),
  overHttp('portcullis-http-up', 'a legacy client and a modern server', '/one-modern', call),
  overHttp('portcullis-federation-modern', 'a modern client and ten modern servers', '/ten-modern', {
    ...callOfOne,
    ...modern,
  }),
  overHttp('portcullis-list', '`tools/list` of 300 tools, a rule for each tool', '/ten-ruled', list),
  overHttp(
    'portcullis-list-modern',
    '`tools/list` of 300 tools, a rule for each tool, modern clients and servers',
    '/ten-modern-ruled',
    { ...list, ...modern },
  ),
];
