import { testSubjects } from './differential.testing.ts';
import { fileSubjects } from './servers/files.ts';

testSubjects('files', fileSubjects);
