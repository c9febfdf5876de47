import type { RuleInUse } from '../api/types.ts';
import { decidesText, effectOf, ownerOf } from './ruleTexts.ts';

/** The rules in use, with what they decide. */
export const RuleList = ({ rules }: { rules: readonly RuleInUse[] }) => (
  <details>
    <summary>All rules in use ({rules.length})</summary>
    <div className="scroll" tabIndex={0} role="region" aria-label="Rules in use">
      <table className="grid" aria-label="Rules and what they decide">
        <thead>
          <tr>
            <th scope="col">Route</th>
            <th scope="col">Rule</th>
            <th scope="col">Decides</th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <tr key={`${rule.bind} ${rule.listener} ${rule.route?.id ?? ''} ${rule.place}`}>
              <td>{ownerOf(rule)}</td>
              <td className="wrap">
                {rule.name !== undefined && <b>{rule.name} </b>}
                {effectOf(rule)} <code>{rule.expression}</code>
              </td>
              <td>{decidesText(rule)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
);
