import { area, ours, type Requirement } from './requirement.ts';

const expressions = ours('docs/policies/expressions.md');
const design = ours('docs/design/authorization-rules.md');
const aboutMcp = ours('docs/mcp/authorization.md');
const rules = 'src/policies/rules/rules.test.ts';
const hazards = 'src/policies/rules/hazards.test.ts';
const callTime = 'src/policies/rules/callTime.test.ts';
const toolNames = 'src/policies/rules/toolNames.test.ts';
const scopes = 'src/policies/rules/scopes.test.ts';
const attributes = 'src/policies/attributes/attributes.test.ts';
const records = 'src/policies/attributes/recordFields.test.ts';
const cel = 'src/cel/cel.test.ts';
const forms = 'src/cel/forms.test.ts';
const work = 'src/cel/work.test.ts';
const plan = 'src/cel/evaluate/plan.test.ts';
const addresses = 'src/cel/functions/addresses.test.ts';

const failing = 'a rule that fails does not allow, a require that fails refuses, a deny that fails denies';
const groups = 'a group rule allows only callers with the group in a list claim';
const problems = 'a problem says where it is';
const headers = 'headers are found in any case of name, one line as text and several as a list';

/** The ways in which an expression can mean something else than its author thinks, and open what it should close. */
export const celHazards: readonly Requirement[] = [
  ...area('cel.failure', [
    [
      'allow',
      'an allow rule that fails does not allow',
      design,
      [rules, failing, "enters(['jwt.missing == 1'], "],
    ],
    [
      'deny',
      'a deny rule that fails denies',
      design,
      [rules, failing, "{ deny: 'jwt.missing == 1' }"],
      [rules, 'a deny that fails denies each item whose name decides it, whatever kinds it reads at once'],
    ],
    [
      'require',
      'a require rule that fails refuses',
      design,
      [rules, failing, "{ require: 'jwt.missing == 1' }"],
    ],
    [
      'no-decision',
      'a value that is neither true nor false is no decision',
      design,
      [rules, failing, "['jwt.a']"],
    ],
    [
      'scopes',
      'a scope rule that fails requires its scopes',
      aboutMcp,
      [scopes, 'a rule may require scopes by arguments, and fails closed'],
    ],
    [
      'overflow',
      'numbers that overflow, and division by zero, fail',
      expressions,
      [hazards, 'numbers that overflow or are divided by zero fail the rule'],
    ],
    [
      'index',
      'an index that no list has fails, and or absorbs it',
      expressions,
      [plan, 'an invalid list index is an error that an `or` absorbs'],
    ],
    [
      'default',
      'default hides a missing key, and no other failure',
      expressions,
      [forms, 'default answers for a key or a variable that is not there, and for nothing else'],
    ],
  ]),
  ...area('cel.claims', [
    [
      'substring',
      'membership never matches a part of a text',
      expressions,
      [cel, 'membership never matches a part of a string, and a missing claim is an error, not a match'],
      [rules, groups, "groups: 'superadmins'"],
    ],
    [
      'text-for-list',
      'a group claim that is a text, null or missing is no membership',
      expressions,
      [rules, groups, "groups: 'admins'"],
      [rules, groups, 'groups: null'],
    ],
    [
      'anonymous',
      'a caller without a token has no claims',
      expressions,
      [hazards, 'a caller without a token has no claims: has is false, and a rule that reads one fails'],
    ],
    [
      'type',
      'a claim of another type is no match',
      expressions,
      [hazards, 'a claim of another type is no match, and fails where it is more than compared'],
    ],
    [
      'null',
      'a claim that is null is there',
      expressions,
      [plan, 'a key that holds null is there, as the language says and the library does not'],
    ],
    [
      'dots',
      'a claim with dots in its name is no path',
      expressions,
      [hazards, 'a claim with dots in its name is read by brackets, and never by a path'],
    ],
    [
      'prototype',
      'claims with names of JavaScript are data',
      design,
      [cel, 'claims cannot pose as anything but data'],
      [plan, 'inherited JavaScript properties are neither variables nor members'],
    ],
    [
      'secrets',
      'expressions see no token and no key',
      expressions,
      [rules, 'rules see the metadata of an API key and the name of a user, but not the key'],
      [records, 'fields show no credentials, whatever the expression does with them'],
    ],
  ]),
  ...area('cel.load', [
    ['name', 'a misspelt variable is refused', expressions, [cel, problems, 'request.paht']],
    [
      'type',
      'a comparison of types that are never equal is refused',
      expressions,
      [cel, problems, 'request.path == 1'],
    ],
    [
      'never',
      'a rule that no data can make true is refused',
      expressions,
      [cel, 'a condition that no data can make true is known beforehand'],
    ],
    [
      'absent',
      'a variable of the format without a value at a place is refused there',
      expressions,
      [
        attributes,
        'names of the format that have no value here are refused with the reason, unknown ones as unknown',
      ],
      [cel, 'known features that are not supported are rejected by name'],
    ],
    [
      'shadow',
      'a loop variable hides the variable of the same name',
      expressions,
      [cel, 'a program says which variables it uses, and a loop variable of the same name is not one'],
    ],
    [
      'method',
      'a rule about a method that no rule judges is refused',
      aboutMcp,
      [callTime, 'a rule about a method that names no item is refused at load'],
    ],
    [
      'kinds',
      'a rule that demands two kinds of items is reported',
      aboutMcp,
      [toolNames, 'a rule can demand two kinds of items, and then it is never true'],
    ],
  ]),
  ...area('cel.request', [
    ['header-case', 'header names are found in any case', expressions, [cel, headers, 'X-One']],
    [
      'header-twice',
      'a header with several lines is a list, and can be split',
      expressions,
      [cel, headers, '["a,b", "c"]'],
      [hazards, 'a header that a client sends twice does not walk around a rule that splits it'],
    ],
    [
      'path',
      'every reading of the path is judged',
      design,
      [rules, 'rules about items judge every reading of the path'],
    ],
    [
      'mapped-address',
      'an IPv4 address in IPv6 form is the IPv4 address',
      expressions,
      [addresses, 'an IPv4 address written as IPv6 does not walk around a rule about IPv4'],
    ],
    [
      'address-range',
      'a range contains addresses of its own family only',
      expressions,
      [addresses, 'ranges contain addresses and ranges of their family only'],
    ],
  ]),
  ...area('cel.items', [
    [
      'other-kind',
      'a deny rule about tools does not hide prompts',
      design,
      [rules, 'a deny about tools hides that tool, not every prompt; a deny that really fails hides all'],
      [rules, 'a deny about prompts says nothing about tools, although no tool has the name of the prompt'],
    ],
    [
      'gate',
      'an allow rule about the caller does not close a route that a rule about items opens',
      design,
      [rules, 'in a mixed set a rule without mcp.* is a gate only where no item rule could still allow'],
    ],
    [
      'monotonic',
      'a set of rules opens no more than its rules one by one',
      design,
      [rules, 'items are never more open than by the rules taken one by one'],
    ],
    [
      'unknown',
      'a rule about arguments does not refuse everything',
      aboutMcp,
      [callTime, 'an allow rule about arguments lets a list show the tool, and decides each call'],
    ],
    [
      'list-and-call',
      'lists and calls agree about items',
      aboutMcp,
      [callTime, 'rules without variables of a call decide lists and calls alike'],
      [callTime, 'an item that a list hides is refused with all arguments'],
    ],
    [
      'two-readings',
      'arguments have one reading',
      aboutMcp,
      [callTime, 'arguments with more than one reading are refused, whatever the rules say of them'],
    ],
    [
      'numbers',
      'whole numbers are exact, whatever they are written like',
      aboutMcp,
      [callTime, 'whole numbers equal whole numbers, whatever they are written like'],
    ],
  ]),
  ...area('cel.work', [
    [
      'pattern',
      'a hostile text costs linear time',
      design,
      [cel, 'a hostile pattern against a long text takes linear time'],
    ],
    [
      'loops',
      'nested loops run out of steps, and or does not hide it',
      expressions,
      [cel, 'a nested loop over large data runs out of steps, also behind an or'],
    ],
    [
      'source',
      'the text of an expression is bounded',
      expressions,
      [cel, 'source texts are bounded in length, depth and nesting'],
    ],
    [
      'results',
      'large results use up the budget',
      expressions,
      [work, 'superlinear work and large results use up the budget'],
    ],
    [
      'budget',
      'a spent budget closes',
      expressions,
      [
        rules,
        'a rule that spends the budget of its request does not allow, denies, and is named with the limit',
      ],
      [rules, 'the rules of a request share one budget over all its items'],
    ],
    [
      'spent-answer',
      'an answer without work left is not remembered',
      expressions,
      [rules, 'a verdict of a request with an exhausted budget is not cached'],
    ],
    [
      'identity',
      'a remembered answer is for one identity',
      expressions,
      [rules, 'the answer for one identity is remembered and never given to another'],
    ],
    [
      'volatile',
      'a rule with random results is not remembered',
      expressions,
      [rules, 'a rule that comes out differently each time is asked each time, also about one caller'],
    ],
  ]),
];
