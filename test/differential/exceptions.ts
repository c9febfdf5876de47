/**
 * Everything that may differ between what a client sees directly and through the gateway, each with its reason. An
 * exception that changes no line fails the suite, so the lists only shrink.
 */

import type { AnyRevision } from './course.ts';

export interface Exception {
  /** Begins the names of the subjects that it is for; all of the family where absent. */
  readonly subject?: string;
  /** The place of the gateway that it is for; all where absent. */
  readonly place?: string;
  /** The revision that it is for; all where absent. */
  readonly revision?: AnyRevision;
  /** Begins the labels of the lines that it is for; all where absent. */
  readonly label?: string;
  readonly pattern: RegExp;
  /** Takes the place of the match on both sides. Where absent, a line that matches is left out on both. */
  readonly as?: string;
  readonly reason: string;
}

export type Family = 'everything' | 'sdk2' | 'files' | 'fastmcp' | 'literal';

const deleted: Exception = {
  label: 'DELETE',
  pattern: /^20[04]/,
  as: '2xx',
  reason: 'The specification leaves the status to the server: SDKs answer 200, the gateway 204.',
};
const times: Exception = {
  pattern: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g,
  as: '<time>',
  reason: 'Times differ between any two runs.',
};
const cancelled: Exception = {
  label: 'notifications/progress cancelled',
  pattern: /"progress":(?!1,|0,)/,
  reason: 'The server goes on after a cancellation. The gateway forwards nothing more of a cancelled call.',
};

const empty = /^200 (?:\{"result":\{\},"jsonrpc":"2.0"\}|\{"jsonrpc":"2.0","result":\{\}\})$/;
/** The answers that the gateway makes for several targets. */
const composed: readonly Exception[] = [
  {
    place: 'federated',
    label: 'initialize',
    pattern: /^200 .*"protocolVersion":"([\d-]+)".*$/,
    as: '200 with revision $1',
    reason: 'The gateway joins capabilities and instructions of all targets, and tells a name of its own.',
  },
  {
    place: 'federated',
    label: 'ping',
    pattern: empty,
    as: '200 with an empty result',
    reason: 'The gateway answers, and the order of members is its own.',
  },
  {
    place: 'federated',
    label: 'wrong logging/setLevel',
    pattern: /^200 .*"error":.*$/,
    as: '200 with an error',
    reason: 'The level goes to all targets. The error names the target that refused it.',
  },
];
const level: Exception = {
  place: 'federated',
  label: 'logging/setLevel',
  pattern: empty,
  as: '200 with an empty result',
  reason: 'The level goes to all targets, so the gateway answers, with an order of members of its own.',
};
/** A method that the gateway does not know: rules about items (in 2025-11-25) and several targets keep it out. */
const unknownMethod = (
  [
    {
      revision: '2025-11-25',
      reason: 'Where rules hide items, the gateway itself refuses methods that it does not know.',
    },
    { place: 'federated', reason: 'No target owns a method that the gateway does not know.' },
  ] as const
).map((each): Exception => ({
  ...each,
  label: 'wrong no/such/method',
  pattern: /^200 .*"code":-32601,.*$/,
  as: '200 with -32601',
}));
const lacking = ['prompts/list', 'resources/list', 'resources/templates/list'].map((label): Exception => ({
  place: 'federated',
  label,
  pattern: /^200 (?:.*"Method not found".*|\{"\w+":\[\]\})$/,
  as: '200 without items',
  reason: 'The other target has such items, so the list exists, and this server adds nothing to it.',
}));

/** Clients of revision 2026-07-28 in front of servers that do not know it. */
const bridged: readonly Exception[] = [
  {
    revision: '2026-07-28',
    pattern: /(?<="result":\{)"resultType":"complete",(?:"ttlMs":0,"cacheScope":"private",)?/,
    as: '',
    reason: 'The revision demands these members, which the server does not know.',
  },
  {
    revision: '2026-07-28',
    pattern: /^404 (?=.*"error":\{"code":-32601,)/,
    as: '200 ',
    reason: 'The revision demands status 404 for unknown methods.',
  },
];

export const exceptions: Readonly<Record<Family, readonly Exception[]>> = {
  everything: [
    ...bridged,
    {
      revision: '2026-07-28',
      label: 'tools/call simulate-research-query',
      pattern: /./,
      reason:
        'The server demands a task, which a client of this revision cannot ask for: the gateway asks for it.',
    },
    {
      revision: '2026-07-28',
      label: 'tools/call trigger-url-elicitation',
      pattern: /./,
      reason:
        'The revision has no error -32042. The result asks for the URL to be opened, and the next round of the call succeeds.',
    },
    ...['sampling/createMessage', 'elicitation/create'].map((label): Exception => ({
      revision: '2026-07-28',
      label,
      pattern: /./,
      reason: `A client of this revision finds the question (${label}) in a result, and answers it with the next round.`,
    })),
    {
      revision: '2026-07-28',
      label: 'notifications/tools/list_changed',
      pattern: /./,
      reason:
        'The server sends these when it gets `initialized`. A client of this revision listens after that.',
    },
    {
      revision: '2026-07-28',
      label: 'notifications/message',
      pattern: /./,
      reason: 'A client of this revision hears log messages only while its request is under way.',
    },
    {
      revision: '2026-07-28',
      pattern: /"params":\{"_meta":\{"io\.modelcontextprotocol\/subscriptionId":\d+\}\},/,
      as: '',
      reason: 'The revision demands the id of the subscription in its news.',
    },
    ...composed,
    level,
    deleted,
    times,
    cancelled,
    {
      pattern: /created at \d+:\d\d:\d\d [AP]M/g,
      as: 'created at <time>',
      reason: 'Times differ between any two runs.',
    },
    {
      pattern: /(?<="blob":"UmVzb3VyY2U)[^"]+/g,
      as: '<with a time>',
      reason: 'The resource is a text with the time, in base64.',
    },
    {
      label: 'tools/call get-env',
      pattern: /(?<="text":).*(?=\}\]\})/,
      as: '<environment>',
      reason: 'The gateway is another parent with other variables.',
    },
    {
      pattern: /[Ss]ession(?:Id)? [0-9a-f-]{36}/g,
      as: 'session <id>',
      reason: 'The server tells its own id of the session, which differs between any two sessions.',
    },
    {
      label: 'notifications/message',
      pattern: /"level":"\w+","data":"\w+[- ]level[- ]message/,
      as: '<random level>',
      reason: 'The server chooses the level of a simulated message at random.',
    },
    {
      label: 'tasks/get',
      pattern: /MCP error -32602: Failed to retrieve task: Task not found|Unknown task/,
      as: '<unknown task>',
      reason: 'Task ids are sealed to their owner, so the gateway itself refuses an id that it did not make.',
    },
    {
      subject: 'server-everything over Streamable HTTP',
      label: 'notifications/tools/list_changed',
      pattern: /./,
      reason:
        'The server sends these when it gets `initialized`. The gateway opens its GET stream after that, as SDK clients do.',
    },
  ],
  sdk2: [
    ...composed,
    level,
    deleted,
    {
      label: 'tools/call',
      pattern: /(?<="type":"text","text":")(?:seven|\d+)(?="\}\])/,
      as: '<token>',
      reason: 'The tool tells the token of its progress. The gateway gives servers tokens of its own.',
    },
    {
      revision: '2026-07-28',
      place: 'alone',
      label: 'server/discover',
      pattern: /^200 .*"capabilities":(.*?),"(?:resultType|serverInfo)":.*$/,
      as: '200 with $1',
      reason: 'The gateway answers for itself, with its own revisions and an order of members of its own.',
    },
    {
      revision: '2026-07-28',
      place: 'federated',
      label: 'server/discover',
      pattern: /^200 .*"supportedVersions":\["2026-07-28"\].*$/,
      as: '200 with the revision',
      reason: 'The gateway joins capabilities and instructions of all targets, and tells a name of its own.',
    },
    {
      revision: '2026-07-28',
      place: 'alone',
      label: 'tools/list',
      pattern: /"ttlMs":\d+,"cacheScope":"\w+"/,
      as: '<cache hints>',
      reason: 'Rules shape the list for each caller, so that nobody may keep it.',
    },
    {
      revision: '2026-07-28',
      subject: 'SDK v2 over stdio',
      pattern: /^(?:200|400|404) (?=.*"error":\{"code":-32(?:601|021),)/,
      as: '',
      reason: 'Stdio has no statuses. Over HTTP, the revision demands 404 and 400 for these errors.',
    },
    {
      place: 'federated',
      pattern: /(?<="progressToken":)(?:"one \d+"|\d+)(?=\})/,
      as: '<token>',
      reason: 'Two servers may ask with the same token, so the gateway puts the name of the target into it.',
    },
  ],
  files: [
    ...bridged,
    ...composed,
    ...lacking,
    {
      label: 'tools/call get_file_info',
      pattern: /\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[^\\]*\([^)]*\)/g,
      as: '<time>',
      reason: 'Each run has files of its own.',
    },
  ],
  literal: [
    ...composed,
    {
      pattern: /\\\\u2028/,
      as: '\u2028',
      reason: 'Some readers of lines end them at U+2028, so the gateway writes it as an escape over stdio.',
    },
    {
      label: 'tools/call echo',
      pattern: /(?<=\\"progressToken\\":)(?:\\"a token\\"|\d+)/,
      as: '<token>',
      reason: 'The gateway gives servers tokens of its own.',
    },
    ...unknownMethod,
    {
      revision: '2025-11-25',
      label: 'notifications/example.com/own',
      pattern: /./,
      reason: 'Where rules hide items, the gateway drops notifications that it does not know.',
    },
  ],
  fastmcp: [
    ...composed,
    deleted,
    {
      revision: '2026-07-28',
      label: 'server/discover',
      pattern: /^200 .*"supportedVersions":\["2026-07-28"\].*$/,
      as: '200 with the revision',
      reason: 'The gateway answers for itself, with the capabilities of all targets and an order of its own.',
    },
    ...['removed', 'wrong no/such/method'].map((label): Exception => ({
      revision: '2026-07-28',
      label,
      pattern: /^(?:200|404) .*"code":-32(?:601|022),.*$/,
      as: '<unknown method>',
      reason: `The gateway itself refuses methods that the revision does not have (${label}), with status 404.`,
    })),
    {
      revision: '2026-07-28',
      subject: 'fastmcp over HTTP',
      label: 'wrong',
      pattern: /^400 (?=.*"code":-32602,)/,
      as: '200 ',
      reason:
        'The server answers 400 where an item is unknown. The gateway keeps 400 for faults of the request itself.',
    },
    {
      subject: 'fastmcp over HTTP',
      label: 'tools/call, cancelled',
      pattern: /^200 .*"Request cancelled".*$/,
      as: 'no answer',
      reason:
        'The server answers a cancelled call. The specification says that it should not, and the gateway forwards nothing.',
    },
    ...unknownMethod,
  ],
};
