import { regexLimits, type Regex } from '../../regex/index.ts';
import { Failure } from '../failure.ts';
import { charge } from '../limits.ts';
import { isFailure, type Step } from './frame.ts';

/** `matches` and `regexReplace` with a pattern that is written out. */

const tooLong = new Failure(`a text of more than ${regexLimits.subjectLength} characters is not matched`);
const isTooLong = (text: string): boolean => text.length > regexLimits.subjectLength;

const notText = (name: string): Failure => new Failure(`found no matching overload for '${name}'`);

export function matching(of: Step, regex: Regex): Step {
  const mismatch = notText('matches');
  return (frame) => {
    const text = of(frame);
    if (typeof text === 'string') return isTooLong(text) ? tooLong : regex.part(text, charge);
    return isFailure(text) ? text : mismatch;
  };
}

export function replacing(of: Step, regex: Regex, by: Step): Step {
  const mismatch = notText('regexReplace');
  return (frame) => {
    const text = of(frame);
    if (isFailure(text)) return text;
    const replacement = by(frame);
    if (isFailure(replacement)) return replacement;
    if (typeof text !== 'string' || typeof replacement !== 'string') return mismatch;
    return isTooLong(text) ? tooLong : regex.replaceAll(text, replacement, charge);
  };
}
