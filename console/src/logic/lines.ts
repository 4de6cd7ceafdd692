/** Where in a YAML text a field is that a server complains of. */
import { LineCounter, isCollection, isMap, isNode, isScalar, parseDocument, type Document } from 'yaml';

export interface Mistake {
  line: number;
  says: string;
}

export interface Read {
  value: unknown;
  mistakes: Mistake[];
  /** The line of a place such as `spec.subgroups.0.size`; where that is missing, of what it belongs to. */
  lineOf(where: string): number;
}

export function read(text: string): Read {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter });
  const mistakes = [...document.errors, ...document.warnings].map((error) => ({
    line: error.linePos?.[0].line ?? 1, says: (error.message.split('\n')[0] ?? '').replace(/ at line \d+.*$/, ''),
  }));
  const value: unknown = mistakes.length ? null : document.toJS();
  return { value, mistakes, lineOf: (where) => lineOf(document, counter, where) };
}

function lineOf(document: Document, counter: LineCounter, where: string): number {
  const parts = where.split('.').filter((part) => part !== 'body' && part !== 'spec' );
  let node: unknown = document.contents;
  let offset = 0;
  for (const part of parts) {
    if (!isCollection(node)) break;
    if (isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === part);
      if (!pair) break;
      if (isNode(pair.key) && pair.key.range) offset = pair.key.range[0];
      node = pair.value;
    } else {
      node = node.items[Number(part)];
      if (isNode(node) && node.range) offset = node.range[0];
    }
  }
  return counter.linePos(offset).line;
}
