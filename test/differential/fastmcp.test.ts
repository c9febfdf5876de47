import { testSubjects } from './differential.testing.ts';
import { fastmcpSubjects, missing } from './servers/fastmcp.ts';

testSubjects('fastmcp', fastmcpSubjects, missing);
