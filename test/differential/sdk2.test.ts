import { testSubjects } from './differential.testing.ts';
import { sdk2Subjects } from './servers/sdk2.ts';

testSubjects('sdk2', sdk2Subjects);
