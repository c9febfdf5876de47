import { useDebouncedValue } from '@mantine/hooks';
import { useMemo, useState } from 'react';
import { judgeExpression, useExpressionWords } from '../api/rules.ts';
import { Editor } from '../editor/Editor.tsx';
import { cel } from './celLanguage.ts';
import { celLint, type Judgement } from './celLint.ts';
import { knownMembers } from './knownMembers.ts';

/** The time without a keystroke after which the claims and the request of the page are read for completion. */
const settleMs = 300;

/**
 * The editor of an expression: it completes names, and shows the mistake that the gateway finds.
 * @param props.claims the claims on the page, whose names it offers
 * @param props.request the request on the page, whose arguments it offers
 */
export function ExpressionEditor(props: {
  value: string;
  onChange: (value: string) => void;
  claims: string;
  request: string;
}) {
  const { value, onChange, claims, request } = props;
  const words = useExpressionWords().data;
  const [given] = useDebouncedValue(JSON.stringify(knownMembers(claims, request)), settleMs);
  const [judgement, setJudgement] = useState<Judgement>();
  const language = useMemo(
    () => cel(words, JSON.parse(given) as ReturnType<typeof knownMembers>),
    [words, given],
  );
  const lint = useMemo(() => celLint(judgeExpression, setJudgement), []);
  const extensions = useMemo(() => [language, lint], [language, lint]);
  const mistake = judgement?.expression === value ? judgement.mistake : undefined;
  return (
    <div>
      <Editor
        label="Expression (CEL)"
        value={value}
        onChange={onChange}
        extensions={extensions}
        height="7rem"
      />
      <p className="mono mistake" role="status" aria-label="Mistake in the expression">
        {mistake !== undefined && `Line ${mistake.line}, column ${mistake.column}: ${mistake.message}`}
      </p>
    </div>
  );
}
