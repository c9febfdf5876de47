import type {
  Decision,
  DecisionOutcome,
  ExplainedMessage,
  PolicyVerdict,
  RouteCandidate,
} from '../proxy/contract.ts';
import { hideSecretForms } from '../telemetry/index.ts';
import { printable } from './printable.ts';

/** A line and the lines below it. */
interface Branch {
  readonly text: string;
  readonly below?: readonly Branch[];
}

/** A decision as a tree of text. Secrets that this process knows are replaced. */
export function decisionTree(decision: Decision): string {
  const { bind, listener, candidates, policies, caller, backend, mcp = [], outcome } = decision;
  const branches: Branch[] = [
    { text: listener === undefined ? `port ${bind}: no listener` : `listener ${listener} on port ${bind}` },
    ...(listener === undefined ? [] : [routeBranch(decision.route, candidates)]),
    ...(caller === undefined
      ? []
      : [{ text: `caller ${[caller.subject, caller.issuer].filter(Boolean).join(' of ')}` }]),
    ...(policies.length === 0 ? [] : [{ text: 'policies', below: policies.map(policyBranch) }]),
    ...(backend === undefined ? [] : [{ text: `backend ${backend}` }]),
    ...(mcp.length === 0 ? [] : [{ text: 'messages', below: mcp.map(messageBranch) }]),
  ];
  const lines = [outcomeText(outcome), ...linesOf(branches, '')];
  return `${lines.map((line) => printable(hideSecretForms(line))).join('\n')}\n`;
}

function outcomeText(outcome: DecisionOutcome): string {
  const { kind, status, error, reason, policy, rule, place } = outcome;
  const parts = [
    kind,
    ...(status === undefined || status === 0 ? [] : [`with ${status}`]),
    ...(policy === undefined ? [] : [`by ${policy}`]),
    ...(error === undefined ? [] : [`(${error})`]),
  ].join(' ');
  const why = rule === undefined ? reason : `rule ${rule}`;
  return [parts, ...(why === undefined ? [] : [why]), ...(place === undefined ? [] : [`at ${place}`])].join(
    ', ',
  );
}

function routeBranch(route: string | undefined, candidates: readonly RouteCandidate[]): Branch {
  const below = candidates.map(({ route: name, match, verdict, because, place }) => {
    const why =
      because === undefined ? (verdict === 'later' ? ': a rule before it was chosen' : '') : `: ${because}`;
    return {
      text: `${verdict === 'matched' ? 'matched' : 'not chosen'} ${name} (${match}) at ${place}${why}`,
    };
  });
  return { text: route === undefined ? 'no route matches' : `route ${route}`, below };
}

function policyBranch({ policy, place, verdict, because, rules = [] }: PolicyVerdict): Branch {
  const why = because === undefined ? '' : `: ${because}`;
  return {
    text: `${policy} ${verdict}${why} (${place})`,
    below: rules.map((rule) => ruleBranch(rule)),
  };
}

function ruleBranch({
  rule,
  effect,
  expression,
  scopes = [],
  place,
  value,
  claims = {},
}: NonNullable<PolicyVerdict['rules']>[number]): Branch {
  const read = Object.entries(claims).map(([name, text]) => `${name}=${text}`);
  const from = read.length === 0 ? '' : `, with ${read.join(', ')}`;
  // A rule without a name is shown by its expression already.
  const decides = effect === 'scopes' ? `requireScopes ${scopes.join(' ')} if` : `${effect}:`;
  const written =
    expression === undefined ? '' : ` (${decides} ${expression.replaceAll(/\s+/g, ' ').trim()})`;
  return { text: `${rule}${written} is ${value}${from} (${place})` };
}

function messageBranch({
  method,
  kind,
  item,
  target,
  name,
  verdict,
  because,
  rule,
  place,
  rules = [],
}: ExplainedMessage): Branch {
  const about = kind === undefined ? '' : ` ${kind} ${item ?? ''}`;
  const owner = target === undefined ? '' : `, which is ${name ?? ''} of target ${target}`;
  const why = [because, rule === undefined ? undefined : `rule ${rule}`, place].filter(
    (part) => part !== undefined,
  );
  return {
    text: `${method}${about}${owner}: ${verdict}${why.length === 0 ? '' : ` (${why.join('; ')})`}`,
    below: rules.map((each) => ruleBranch(each)),
  };
}

function linesOf(branches: readonly Branch[], indent: string): string[] {
  return branches.flatMap(({ text, below = [] }, index) => {
    const last = index === branches.length - 1;
    return [`${indent}${last ? '└─' : '├─'} ${text}`, ...linesOf(below, `${indent}${last ? '   ' : '│  '}`)];
  });
}
