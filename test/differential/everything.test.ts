import { testSubjects } from './differential.testing.ts';
import { everythingSubjects } from './servers/everything.ts';

testSubjects('everything', everythingSubjects);
