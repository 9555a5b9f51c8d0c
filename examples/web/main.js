// Lists the projects of the organization that the token's user belongs to, over
// gRPC-Web, with the client that `npm run build` generates from the contracts.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { Projects, ProjectState } from "./gen/herald/projects/v1/projects_pb.js";
import { ErrorDetailSchema } from "./gen/herald/v1/fault_pb.js";
import { TextQueryMethod, TextQueryMethodSchema } from "./gen/herald/v1/list_pb.js";

const at = (id) => document.getElementById(id);

// The token is only in its field and in the header of a call. It is not stored.
function search(signal) {
  const client = createClient(Projects, createGrpcWebTransport({ baseUrl: at("address").value }));
  const name = at("name").value;
  const request = {
    query: { limit: BigInt(at("limit").value || 0) },
    queries: name ? [{ nameQuery: { name, method: Number(at("method").value) } }] : [],
  };
  return client.searchProjects(request, { signal, headers: { Authorization: `Bearer ${at("token").value}` } });
}

function row(project) {
  const created = timestampDate(project.details.creationDate).toLocaleString();
  const tr = document.createElement("tr");
  for (const text of [project.name, ProjectState[project.state].toLowerCase(), created, project.id]) {
    tr.insertCell().textContent = text;
  }
  return tr;
}

function show({ details, result }) {
  at("total").textContent = `${result.length} of ${details.totalResult}`;
  at("projects").tBodies[0].replaceChildren(...result.map(row));
  at("projects").hidden = result.length === 0;
}

// The details of an error have its id. An error of the network has no details.
function showFault(error) {
  const { id, permission } = error.findDetails(ErrorDetailSchema)[0] ?? { id: Code[error.code] };
  at("fault").textContent = `${id}: ${error.rawMessage}${permission ? ` (${permission})` : ""}`;
  at("fault").hidden = false;
}

function clear() {
  at("total").textContent = "";
  at("fault").hidden = true;
  at("projects").hidden = true;
  at("projects").tBodies[0].replaceChildren();
}

let running = new AbortController();

at("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  running.abort(); // an answer to an older search must not follow
  running = new AbortController();
  const { signal } = running;
  clear();
  try {
    const found = await search(signal);
    if (!signal.aborted) show(found);
  } catch (cause) {
    if (!signal.aborted) showFault(ConnectError.from(cause));
  }
});

for (const { name, number } of TextQueryMethodSchema.values) {
  const text = name.replace("TEXT_QUERY_METHOD_", "").replaceAll("_", " ").toLowerCase();
  at("method").add(new Option(text, number, false, number === TextQueryMethod.CONTAINS_IGNORE_CASE));
}
