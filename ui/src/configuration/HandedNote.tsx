import { CopyText } from '../parts/CopyText.tsx';
import { Note } from '../parts/Note.tsx';
import type { HandedRule } from './ruleEdit.ts';

/** Says why an expression of the page Rules is not in the text, and lets the person copy it. */
export const HandedNote = ({ handed: { refusal, expression = '' } }: { handed: HandedRule }) => (
  <Note tone="warn">
    <p role="status">
      <strong>The expression was not put into the text.</strong> {refusal}
    </p>
    <CopyText text={expression} label="the expression" />
  </Note>
);
