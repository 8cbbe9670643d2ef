// Parses YAML documents in a time that grows with the text: the library compares each key of a map with all others, and each alias with all
// anchors. Invariant: the answer has the faults that the library would find.
import { isMap, isScalar, LineCounter, parseAllDocuments, visit, YAMLParseError, type Document, type Node } from 'yaml';

/** The largest number of aliases of one document. Each is looked for among all anchors. */
const MAX_ALIASES = 500;

/** The documents of a text. The first fault of each is `errors[0]`, with its offset in `pos`. */
export function parseYaml(text: string, lineCounter = new LineCounter()): readonly Document.Parsed[] {
  const found = parseAllDocuments(text, { lineCounter, uniqueKeys: false, prettyErrors: false, logLevel: 'error' });
  const documents = Array.isArray(found) ? found : [];
  for (const document of documents) if (document.errors.length === 0) addFaults(document);
  return documents;
}

function addFaults(document: Document.Parsed): void {
  let aliases = 0;
  const fault = (at: Node, code: 'DUPLICATE_KEY' | 'BAD_ALIAS', message: string): symbol => {
    const [start = 0, end = start + 1] = at.range ?? [];
    document.errors.push(new YAMLParseError([start, end], code, message));
    return visit.BREAK;
  };
  visit(document, {
    Alias: (_, alias) => {
      aliases += 1;
      return aliases > MAX_ALIASES ? fault(alias, 'BAD_ALIAS', `more than ${String(MAX_ALIASES)} aliases`) : undefined;
    },
    Map: (_, map) => {
      const repeated = isMap<Node>(map) ? repeatedKey(map.items.map(({ key }) => key)) : undefined;
      return repeated === undefined ? undefined : fault(repeated, 'DUPLICATE_KEY', 'Map keys must be unique');
    },
  });
}

/** The first key with the value of one before it. Keys that are lists or maps are never equal. */
function repeatedKey(keys: readonly Node[]): Node | undefined {
  const seen = new Set<unknown>();
  return keys.find((key) => {
    if (!isScalar(key)) return false;
    if (seen.has(key.value)) return true;
    seen.add(key.value);
    return false;
  });
}
