// The name under which a Dataplane is stored that a proxy brings as JSON. Pure. A proxy knows it by its name; the namespace is a label.
import { label } from './labels.ts';
import { objectOf, textOf } from './read-json.ts';
import { namesOf } from './stored-name.ts';

/**
 * The stored name of a document in Universal form.
 * @param text the document as JSON; the checks of a write report the faults of another text
 * @param name the name by which its proxy asks for it: the display name or the stored one
 */
export function storedNameOfGiven(text: string, name: string): string {
  // Most documents have no namespace, and a large one costs milliseconds.
  if (!text.includes(label.namespace)) return name;
  return namesOf(name, namespaceIn(text)).storedName;
}

function namespaceIn(text: string): string {
  try {
    return textOf(objectOf(objectOf(JSON.parse(text))['labels'])[label.namespace]);
  } catch {
    return '';
  }
}
