import type { ReactNode } from 'react';
import type { Decision } from '../api/types.ts';
import { shortMs } from './time.ts';
import { Tag, type Tone } from './Tag.tsx';

const tones: Readonly<Record<string, Tone>> = {
  passed: 'good',
  matched: 'good',
  forwarded: 'good',
  true: 'good',
  answered: 'info',
  refused: 'bad',
  failed: 'warn',
  'not evaluated': 'warn',
};

const Verdict = ({ children }: { children: string }) => (
  <Tag tone={tones[children] ?? 'plain'}>{children}</Tag>
);

const Place = ({ path }: { path: string | undefined }) =>
  path === undefined || path === '' ? null : <span className="place mono">{path}</span>;

/** A part of the tree that can be folded. */
const Branch = ({ head, children }: { head: ReactNode; children: ReactNode }) => (
  <li>
    <details open>
      <summary>{head}</summary>
      <ul>{children}</ul>
    </details>
  </li>
);

type Rules = Decision['policies'][number]['rules'];

const effectText = ({ effect, scopes = [] }: NonNullable<Rules>[number]): string =>
  effect === 'scopes' ? `require the scopes ${scopes.join(' ')} if` : effect;

const RuleList = ({ rules }: { rules: Rules }) =>
  rules?.map((rule) => (
    <li key={`${rule.place} ${rule.rule}`}>
      <Verdict>{rule.value}</Verdict>{' '}
      {rule.expression === undefined ? (
        <code>{rule.rule}</code>
      ) : (
        <>
          <b>{rule.rule}</b> <span className="quiet">{effectText(rule)}</span> <code>{rule.expression}</code>
        </>
      )}
      {Object.entries(rule.claims ?? {}).map(([name, value]) => (
        <span key={name} className="place mono">
          {name} = {value}
        </span>
      ))}
      <Place path={rule.place} />
    </li>
  ));

/** The decision about a request: route, caller, policies with their rules, backend, messages, in their order. */
export function DecisionTree({ decision }: { decision: Decision }) {
  const { listener, bind, route, candidates, caller, policies, backend, upstream, mcp = [] } = decision;
  return (
    <ul className="tree" aria-label="Decision">
      <Outcome decision={decision} />
      <li>
        listener <b>{listener ?? 'none has the host name'}</b> on bind {bind}
      </li>
      <Branch
        head={
          <>
            route <b>{route ?? 'none'}</b>
          </>
        }
      >
        {candidates.map((candidate) => (
          <li key={`${candidate.place} ${candidate.match}`}>
            <Verdict>{candidate.verdict}</Verdict> {candidate.route}{' '}
            <span className="quiet">({candidate.match})</span>
            {candidate.because !== undefined && <>: {candidate.because}</>}
            <Place path={candidate.place} />
          </li>
        ))}
      </Branch>
      <li>
        caller{' '}
        {caller === undefined ? (
          <span className="quiet">not authenticated</span>
        ) : (
          <>
            <b>{caller.subject}</b>{' '}
            {caller.issuer !== undefined && <span className="quiet">of {caller.issuer}</span>}
          </>
        )}
      </li>
      {policies.length > 0 && (
        <Branch head="policies">
          {policies.map((policy) => (
            <li key={`${policy.place} ${policy.policy}`}>
              <Verdict>{policy.verdict}</Verdict> <b>{policy.policy}</b>
              {policy.because !== undefined && <>: {policy.because}</>}
              <Place path={policy.place} />
              {policy.rules !== undefined && (
                <ul>
                  <RuleList rules={policy.rules} />
                </ul>
              )}
            </li>
          ))}
        </Branch>
      )}
      {backend !== undefined && (
        <li>
          backend <b>{backend}</b>
          {upstream !== undefined && (
            <>
              {upstream.target !== undefined && (
                <>
                  , target <b>{upstream.target}</b>,
                </>
              )}{' '}
              answered {upstream.status} in {shortMs(upstream.ms)}
            </>
          )}
        </li>
      )}
      {mcp.length > 0 && (
        <Branch head="messages">
          {mcp.map((message, at) => (
            // eslint-disable-next-line react/no-array-index-key -- messages of a batch may be equal, and never move
            <li key={at}>
              <Verdict>{message.verdict}</Verdict> <b>{message.method}</b> {message.kind} {message.item}
              {message.target !== undefined && <span className="quiet"> of target {message.target}</span>}
              {message.because !== undefined && <>: {message.because}</>}
              <Place path={message.place} />
              <ul>
                <RuleList rules={message.rules} />
              </ul>
            </li>
          ))}
        </Branch>
      )}
    </ul>
  );
}

function Outcome({ decision: { outcome } }: { decision: Decision }) {
  return (
    <li>
      <Verdict>{outcome.kind}</Verdict>{' '}
      {outcome.status !== undefined && outcome.status > 0 && <>with status {outcome.status} </>}
      {outcome.policy !== undefined && (
        <>
          by <b>{outcome.policy}</b>
        </>
      )}
      {outcome.rule !== undefined && (
        <>
          , rule <code>{outcome.rule}</code>
        </>
      )}
      {outcome.error !== undefined && (
        <>
          {' '}
          <Tag tone="bad">{outcome.error}</Tag>
        </>
      )}
      {outcome.reason !== undefined && outcome.reason !== `rule: ${outcome.rule}` && <> {outcome.reason}</>}
      <Place path={outcome.place} />
    </li>
  );
}
