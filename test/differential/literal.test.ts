import { testSubjects } from './differential.testing.ts';
import { literalSubjects } from './servers/literal.ts';

testSubjects('literal', literalSubjects);
