/**
 * Words that coding agents use whatever they work on, so that they tell nothing about the task. Counted, not chosen: each stands in
 * at least 15 % of the runs of a set of public agent runs, averaged over its repositories; names of projects are taken out.
 */
export const COMMON_WORDS: ReadonlySet<string> = new Set(
  `
about above absolutely access according accuracy accurate accurately across actual actually add added adding
additional address adds affect affected after again agent algorithm all allow allowed along already also although
always analysis analyze analyzing and annotation another answer any anything anyway api app appears append appends
applied apply approach appropriate are args argument arguments around array ask asks assert assertion assignment
associated assume attribute automatically available avoid axis back background base based bash basic batch because
becomes been before behaves behavior being best better between bin bit block blocks body both break broke broken bug
build but bytes cache cached calculate calculates call called calling calls can cannot careful carefully case cases
cat caught causing chain change changed changes changing character chat check checked checking checkout checks chmod
class classes clean clear clearing clearly cmd code codebase collect collections column com combine combined comes
command commands commit common compile complete completed completely completion component components comprehensive
computer conclude conditions confident config configurable configuration confirm confirmed confirming confirms
consider consistent constraints contain containing contains content contents context continue conversation convert
converted converts core correct correctly corresponding corresponds cost could count covers crash create created
creates creating creation cross current currently dat data dataset date debug def default defaults define defined
definitely definition delete deleted demonstrate dependencies dependency derive described description detailed
details determine dev dict did didn diff different differently dir directly directories directory discussion
docstring document documentation documents does doesn doing don done dot double down download downloading due dummy
dumps during each earlier echo edge edit edited either element elements elif else empty encoding end endline
endpoint endpoints enough ensure ensures ensuring entries entry enumerate env environment eof equal equivalent error
errors essential etc even every everything exact exactly examine example exc excellent except exception executable
execute executed execution exist existing exists exit exitcode expect expected expects expert explanation explicit
explicitly explore exploring extend extra extract extracted extremely face factory facts fail failed failing fails
failure failures false faster few fig file filename files final find finding findings fine first fix fixed fixes
fixing flags float focusing follow following foo for force form format found framework from full fully function
functional functionality functions further future gather general generate generated get getattr gets getting git
github given gives goes good got goto great grep group had handle handled handles handling hanging happening happens
has hasattr have haven having head headers height help here high hint home how however http https hypothesis
identified identify identifying ids ignore image implement implementation implemented implies import imported
imports include includes including incorrect indeed indent indentation index indicates info information inherits
init initial initialize initialized inner input insert inserted inside inspect install installation installed
installing instance instead instructions int integer integration intended interact interactive interface into
invalid investigate isinstance issue issues items iterates its itself java javac join json just keep key keys
keyword know kwargs label lambda language large last later least leave len length let level lib libraries library
like likely limit line lines links list listing load loaded loading local locate located location log logic long
look looking looks loop low lower made main make makes manager manually many map mapper match matches matching max
may maybe mcp mean means mechanism member mentioned mentions mess message messed method methods might min minimal
missed missing mistake mkdir mock mode model modified modify modifying module more most move much multiple must mvn
name named names navigate necessary need needed needs network never new next non none not note nothing notice now
null number numbers obj object objects official offset okay old once one only open option order org organized origin
original other our out outcome output outputs over package packages page parameter parameters parse part participant
participants parts pass passed passes passing paste patch path paths pattern pending per perfect perform pip
pipeline pkg place places plan please point points popen populated position positions possible post practice precise
present preserve preserved previous print println probably problem problematic proceed process processing produces
project proper properly properties property proposed provide provided provides public put python python3 query
question quick raise raised raises ran range rather read reading readlines ready real reason reasonable reasoning
recent reference referenced references refers regarding region regression regular related relevant reliable rely
remains remove removed removing replace replaced replacement replaces replacing replicate reply repo reported
repository reproduce reproduced reproduction request requested requests required requirements requires reset
resolved resource response responses result results retrieve return returned returns revert review right risk robust
root row run running runs runtime safe safer said same sample save saved saw say says scenario scratch script
scripts search searching second section security sed see seem seems seen self send separate server session set sets
setting setup several short should shouldn show showing shows side similar simple simpler simplified since single
site size skip skipped sleep small smaller snippet solution solve solving some somehow something somewhere source
sourcegraph sources space spaces specific specifically specified split src standard start started starting startline
starts state static stats status stderr stdout step steps stick still store str strictly string strings strip
structure submit submitting subprocess succeeded success successful successfully such suggested suggestions suggests
suite sum summary support supports supposed sure suspect symbols syntax sys system systematically table tail take
takes taking target task team temporary terminal terminate test tested testing tests text than that the their them
then there these they thing things think this those though thought three through throws thus time timed timeout
times timing title tmp todo too tool tools top total touch traceback treated tries trigger triggers true truncated
try trying tuple tuples two txt type typeerror types typically under understand understanding unexpected unittest
unless unrelated update updated url usage usages use used user uses using usr usually util utils val valid
validation value valueerror values variable variables verification verified verify version very via view void wait
want warning was way web website well were what when where wherever whether which while whole why will with within
without won work worked working works workspace would write writelines written wrong www xargs xml year yes yet you
your zero
`
    .trim()
    .split(/\s+/),
);
